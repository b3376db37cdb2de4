import Foundation
import ImagePipeline
import TestSupport
import Testing

/// A classifier that gives square roots of numbers that are negative for bright pictures: NaN, which is no answer.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
final class InvalidOutputsTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
    private let dark: URL, bright: URL

    init() throws {
        let bundle = folder.appendingPathComponent("models/roots")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        let file = ONNXFile(
            [
                ONNXFile.Node("GlobalAveragePool", ["image"], ["means"]), ONNXFile.Node("Flatten", ["means"], ["flat"]),
                ONNXFile.Node("Sub", ["squares", "flat"], ["rest"]), ONNXFile.Node("Sqrt", ["rest"], ["scores"]),
            ],
            inputs: [("image", [1, 3, 8, 8])], outputs: [("scores", [1, 3])],
            constants: [("squares", [0.49, 0.81, 0.64])])
        try file.bytes.write(to: bundle.appendingPathComponent("roots.onnx"))
        try Data("a\nb\nc\n".utf8).write(to: bundle.appendingPathComponent("labels.txt"))
        let json = """
            { "name": "Roots", "id": "roots", "version": "1", "model": { "file": "roots.onnx", "backend": "onnx" },
              "inputs": [ { "name": "image", "type": "image", "shape": [8, 8, 3], "format": "RGB", "layout": "NCHW",
                            "normalize": { "scale": 1, "bias": 0 } } ],
              "outputs": [ { "name": "scores", "type": "array", "shape": [1, 3], "labels": "labels.txt" } ] }
            """
        try Data(json.utf8).write(to: bundle.appendingPathComponent("model.json"))
        (dark, bright) = (folder.appendingPathComponent("dark.png"), folder.appendingPathComponent("bright.png"))
        for (file, value) in [(dark, UInt8(0)), (bright, 255)] {
            let pixels = [UInt8](repeating: value, count: 8 * 8 * 3)
            try Data(
                pixels.withUnsafeBytes { try PNGEncoder.encode(width: 8, height: 8, channels: 3, pixels: $0) }
            ).write(to: file)
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static let reason = "the model's output \"scores\" is invalid: a score is NaN"

    @Test("scores of NaN are answered with 500 and their reason, in the log and the metrics too")
    func scoresOfNaNAreAnError() throws {
        let daemon = try Daemon(["--models", folder.path + "/models"])
        defer { daemon.stop() }
        let route = daemon.url + "/v1/models/roots/"
        let good = try Curl.post(dark, to: route + "classify")
        let classes = good.json["classifications"] as? [[String: Any]] ?? []
        #expect(good.status == 200 && classes.compactMap { $0["label"] as? String } == ["b", "c", "a"], "\(good.text)")
        for query in ["", "?top=1", "?threshold=0.5"] {
            let answer = try Curl.post(bright, to: route + "classify" + query)
            #expect(answer.status == 500 && answer.json["code"] as? String == "engine_output_invalid", "\(answer.text)")
            #expect(answer.json["error"] as? String == Self.reason)
        }
        #expect(daemon.waitForLog(Self.reason))
        let metrics = try Curl.run(daemon.url + "/metrics").text
        #expect(
            metrics.contains(
                "ocelli_errors_total{code=\"engine_output_invalid\",reason=\"engine_output_invalid\"} 3\n"))
    }

    @Test("of several pictures, those with scores of NaN fail alone")
    func itemsFailAlone() throws {
        let daemon = try Daemon(["--models", folder.path + "/models"])
        defer { daemon.stop() }
        let forms = [dark, bright, dark].flatMap { ["-F", "image=@\($0.path)"] }
        let answer = try Curl.run(daemon.url + "/v1/models/roots/classify", forms)
        let results = answer.json["results"] as? [[String: Any]] ?? []
        #expect(answer.status == 200 && results.count == 3, "\(answer.text)")
        #expect(results.map { $0["code"] as? String } == [nil, "engine_output_invalid", nil], "\(answer.text)")
    }

    @Test("predict answers null for NaN, and an error where the best labels are requested")
    func predictAnswersNull() throws {
        let daemon = try Daemon(["--models", folder.path + "/models"])
        defer { daemon.stop() }
        let route = daemon.url + "/v1/models/roots/predict"
        let raw = try Curl.post(bright, to: route)
        let scores = (raw.json["outputs"] as? [String: Any])?["scores"] as? [String: Any] ?? [:]
        #expect(raw.status == 200 && Set(scores.keys) == ["a", "b", "c"], "\(raw.text)")
        #expect(scores.values.allSatisfy { $0 is NSNull }, "\(raw.text)")
        let best = try Curl.post(bright, to: route + "?top=1")
        #expect(best.status == 500 && best.json["code"] as? String == "engine_output_invalid", "\(best.text)")
        #expect(try Curl.post(dark, to: route + "?top=1").status == 200)
    }

    @Test("`ocelli classify` fails with the reason for a picture with scores of NaN")
    func theCommandFails() throws {
        let model = ["--models", folder.path + "/models", "--model", "roots"]
        let good = try Shell.run(Daemon.binary.path, ["classify", dark.path] + model)
        #expect(good.status == 0 && good.text.contains("b"), "\(good)")
        let wrong = try Shell.run(Daemon.binary.path, ["classify", bright.path] + model)
        #expect(wrong.status != 0 && "\(wrong)".contains("a score is NaN"), "\(wrong)")
    }
}

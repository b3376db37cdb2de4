import Foundation
import TestSupport
import Testing

/// Valid inputs that OpenVINO refuses, sent to the daemon: ONNX Runtime answers them.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: TestEngines.hasONNXRuntime, Comment(rawValue: TestEngines.absence)), .serialized)
struct RefusedInputsTests {
    /// Three parts of the rows, of which the last one is smaller if their number is no multiple of three: the last and
    /// the first part.
    private static let parts = ONNXFile(
        [
            .init("Split", ["x"], ["a", "b", "c"], integers: [("axis", [0]), ("num_outputs", [3])]),
            .init("Concat", ["c", "a"], ["y"], integers: [("axis", [0])]),
        ], inputs: [("x", [-1, 2])], outputs: [("y", [-1, 2])])

    /// The maximum of the first rows and columns of a picture, as many as two values say in addition to eight.
    private static let cut = ONNXFile(
        [
            .init("Add", ["s", "size"], ["sum"]), .init("Cast", ["sum"], ["ends"], integers: [("to", [7])]),
            .init("Constant", [], ["starts"], integers: [("value_ints", [0, 0])]),
            .init("Constant", [], ["axes"], integers: [("value_ints", [2, 3])]),
            .init("Slice", ["x", "starts", "ends", "axes"], ["part"]),
            .init(
                "MaxPool", ["part"], ["y"],
                integers: [("kernel_shape", [3, 3]), ("strides", [2, 2]), ("ceil_mode", [1])]),
        ], inputs: [("x", [1, 1, 8, 8]), ("s", [2])], outputs: [("y", [1, 1, -1, -1])], constants: [("size", [8, 8])])

    private func infer(
        _ model: String, _ inputs: [(name: String, shape: [Int], values: [Double])], on daemon: Daemon
    ) throws -> (answer: Answer, y: [Double]?) {
        let body = try JSONSerialization.data(withJSONObject: [
            "inputs": inputs.map {
                ["name": $0.name, "shape": $0.shape, "datatype": "FP32", "data": $0.values] as [String: Any]
            }
        ])
        let answer = try Curl.run(daemon.url + "/v2/models/\(model)/infer", ["--data-binary", "@-"], input: body)
        let output = (answer.json["outputs"] as? [[String: Any]])?.first
        return (answer, output?["data"] as? [Double])
    }

    @Test("shapes and values that only ONNX Runtime takes are answered with 200, logged once and counted")
    func refusedInputsAreAnswered() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ocelli-refused-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.parts.bytes.write(to: folder.appendingPathComponent("parts.onnx"))
        try Self.cut.bytes.write(to: folder.appendingPathComponent("cut.onnx"))
        let daemon = try Daemon(["--models", folder.path, "--cache-dir", ""])
        defer { daemon.stop() }
        for name in ["parts", "cut"] {
            let engine = try Curl.run(daemon.url + "/v1/models/\(name)").json["engine"] as? [String: Any]
            #expect(engine?["name"] as? String == "openvino", "\(name): \(engine ?? [:])")
        }
        for _ in 0..<3 {
            let five = try infer("parts", [("x", [5, 2], (0..<10).map(Double.init))], on: daemon)
            #expect(five.answer.status == 200 && five.y == [8, 9, 0, 1, 2, 3], "\(five.answer.text)")
            let three = try infer("parts", [("x", [3, 2], (0..<6).map(Double.init))], on: daemon)
            #expect(three.answer.status == 200 && three.y == [4, 5, 0, 1], "\(three.answer.text)")
            // Four rows would be parts of two, two and none.
            let four = try infer("parts", [("x", [4, 2], (0..<8).map(Double.init))], on: daemon)
            #expect(four.answer.status == 400 && four.answer.error.contains("; ONNX Runtime "), "\(four.answer.text)")
        }
        let picture = ("x", [1, 1, 8, 8], (0..<64).map(Double.init))
        for (values, y) in [([-5, -5], 18), ([-6, -6], 9), ([-6, -5], 10), ([-5, -5], 18)] as [([Double], Double)] {
            let found = try infer("cut", [picture, ("s", [2], values)], on: daemon)
            #expect(found.answer.status == 200 && found.y == [y], "\(values): \(found.answer.text)")
        }
        let metrics = try Curl.run(daemon.url + "/metrics").text
        // Nothing but shapes decides for the first model; the second one stays on ONNX Runtime after the first value.
        #expect(metrics.contains("ocelli_model_fallbacks_total{model=\"parts\",version=\"1\"} 3\n"), "\(metrics)")
        #expect(metrics.contains("ocelli_model_fallbacks_total{model=\"cut\",version=\"1\"} 3\n"), "\(metrics)")
        #expect(daemon.stop() == 0)
        for name in ["parts", "cut"] {
            let lines = daemon.log.split(separator: "\n").filter {
                $0.contains("model \(name) version 1: ") && $0.contains(" runs inputs that OpenVINO ")
            }
            #expect(lines.count == 1, "\(daemon.log)")
        }
    }
}

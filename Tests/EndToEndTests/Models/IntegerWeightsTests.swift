import Foundation
import TestSupport
import Testing

/// 8-bit weights with zero points in the real binary: computed in integers by default, reported, and switched off.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct IntegerWeightsTests {
    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/integer-weights")

    /// A folder of models with one bundle of the fixture that is similar to MobileNet.
    private func folder(runtime: String = "{}") throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-int-\(UUID().uuidString)")
        let bundle = folder.appendingPathComponent("net")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: Self.fixtures.appendingPathComponent("mobilenet.tflite"),
            to: bundle.appendingPathComponent("mobilenet.tflite"))
        let json = """
            { "name": "net", "id": "net", "version": "1", "model": { "file": "mobilenet.tflite" }, "runtime": \(runtime),
              "inputs": [{ "name": "input", "type": "array", "shape": [16, 16, 3], "dtype": "uint8" }],
              "outputs": [{ "name": "layer15", "type": "array", "shape": [4, 4, 10], "dtype": "uint8" }] }
            """
        try json.write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
        return folder
    }

    private func samples() throws -> [(input: Data, output: [Int])] {
        let text = try Data(contentsOf: Self.fixtures.appendingPathComponent("cases.json"))
        let json = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        let one = try #require(json["mobilenet"] as? [String: Any])
        return try (#require(one["samples"] as? [[String: Any]])).map { sample in
            (
                try #require(Data(base64Encoded: sample["input"] as? String ?? "")),
                try #require(sample["output"] as? [Int])
            )
        }
    }

    /// The model's own report of its weights, after every sample has had TensorFlow Lite's result.
    private func weights(
        _ folder: URL, _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws -> [String: Any]? {
        let daemon = try Daemon(
            ["--models", folder.path, "--cache-dir", folder.path + "-cache"] + arguments, environment: environment)
        defer { try? FileManager.default.removeItem(atPath: folder.path + "-cache") }
        for (input, output) in try samples() {
            let values = input.map { String($0) }.joined(separator: ",")
            let request =
                "{\"inputs\": [{\"name\": \"input\", \"datatype\": \"UINT8\", \"shape\": [1, 16, 16, 3], \"data\": [\(values)]}]}"
            let file = folder.appendingPathComponent("request.json")
            try request.write(to: file, atomically: true, encoding: .utf8)
            let answer = try Curl.run(daemon.url + "/v2/models/net/infer", ["--data-binary", "@" + file.path])
            let found = (answer.json["outputs"] as? [[String: Any]])?.first?["data"] as? [Int] ?? []
            try #require(found.count == output.count, "\(answer.text.prefix(300))")
            let differences = zip(found, output).map { abs($0 - $1) }
            #expect(differences.allSatisfy { $0 <= 1 }, "\(differences.max() ?? 0)")
            #expect(differences.count { $0 != 0 } * 50 <= differences.count, "\(differences)")
        }
        let weights = try Curl.run(daemon.url + "/v1/models/net").json["integer_weights"] as? [String: Any]
        #expect(daemon.stop() == 0, "\(daemon.log)")
        return weights
    }

    @Test("convolutions with 8-bit weights run in integers by default if the CPU has VNNI")
    func convolutionsRunInIntegersByDefault() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let weights = try weights(folder)
        #expect(weights?["convolutions"] as? Int == 10)
        #expect(weights?["in_integers"] as? Int == (TestProcessor.hasVNNI ? 9 : 0))
        let check = try Shell.run(Daemon.binary.path, ["check", folder.path + "/net"])
        #expect(check.status == 0, "\(check.text)")
        #expect(
            check.text.contains(
                "\(TestProcessor.hasVNNI ? 9 : 0) of 10 convolutions and 0 of 4 depthwise ones run in integers"),
            "\(check.text)")
    }

    @Test("`integer_weights` switches integer computation off; the bundle's value wins over the setting")
    func theBundleAndTheSettingSwitchItOff() throws {
        let off = try folder(runtime: "{ \"integer_weights\": false }")
        defer { try? FileManager.default.removeItem(at: off) }
        #expect(try weights(off) == nil)
        // The bundle takes precedence.
        #expect(try weights(off, ["--integer-weights=true"]) == nil)
        let plain = try folder()
        defer { try? FileManager.default.removeItem(at: plain) }
        #expect(try weights(plain, ["--integer-weights=false"]) == nil)
        let on = try folder(runtime: "{ \"integer_weights\": true }")
        defer { try? FileManager.default.removeItem(at: on) }
        #expect(try weights(on, ["--integer-weights=false"])?["convolutions"] as? Int == 10)
    }

    /// Without these instructions the sums are not exact: scores would be far off.
    @Test("without VNNI no convolution runs in integers, and the reason names ONEDNN_MAX_CPU_ISA")
    func withoutTheInstructionsWeightsStayAsTheyAre() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let weights = try weights(folder, environment: ["ONEDNN_MAX_CPU_ISA": "AVX2"])
        #expect(weights?["in_integers"] as? Int == 0)
        #expect((weights?["reason"] as? String)?.contains("ONEDNN_MAX_CPU_ISA") == true, "\(weights ?? [:])")
    }

    /// The model cannot be written to a temporary file, and is served unchanged.
    @Test("without a temporary folder no convolution runs in integers, and the model is served")
    func withoutATemporaryFolderWeightsStayAsTheyAre() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let weights = try weights(folder, environment: ["TMPDIR": folder.path + "/none"])
        #expect(weights?["in_integers"] as? Int == 0)
        #expect(weights?["reason"] is String, "\(weights ?? [:])")
    }

    @Test("a start with a temporary folder runs convolutions in integers after a start without the folder")
    func aTemporaryFolderThatComesBackIsUsed() throws {
        let folder = try folder()
        let cache = folder.path + "-two"
        defer {
            try? FileManager.default.removeItem(at: folder)
            try? FileManager.default.removeItem(atPath: cache)
        }
        var inIntegers: [Int] = []
        for temporary in [folder.path + "/none", "/tmp"] {
            let daemon = try Daemon(
                ["--models", folder.path, "--cache-dir", cache, "--load-trial=false"],
                environment: ["TMPDIR": temporary])
            let weights = try Curl.run(daemon.url + "/v1/models/net").json["integer_weights"] as? [String: Any]
            inIntegers.append(weights?["in_integers"] as? Int ?? -1)
            #expect(daemon.stop() == 0, "\(daemon.log)")
        }
        #expect(inIntegers == [0, TestProcessor.hasVNNI ? 9 : 0])
    }

    /// A compiled model of one form must never be used for the other.
    @Test("compiled models with and without integer weights are cached apart")
    func theCacheTellsTheTwoFormsApart() throws {
        let folder = try folder()
        let cache = folder.path + "-two"
        defer {
            try? FileManager.default.removeItem(at: folder)
            try? FileManager.default.removeItem(atPath: cache)
        }
        var cached: [Bool] = []
        for setting in ["true", "false", "true", "false"] {
            let daemon = try Daemon(
                ["--models", folder.path, "--cache-dir", cache, "--integer-weights=\(setting)", "--load-trial=false"])
            let model = try Curl.run(daemon.url + "/v1/models/net").json
            cached.append(model["cached"] as? Bool ?? false)
            #expect((model["integer_weights"] != nil) == (setting == "true"), "\(model)")
            #expect(daemon.stop() == 0, "\(daemon.log)")
        }
        #expect(cached == [false, false, true, true])
    }

    /// Quantized models with saturated sums of byte products are reported by `ocelli check` and the log, and no other
    /// model is.
    @Test("a QDQ model without VNNI is warned of by `check` and the log; a dynamic model is not")
    func quantizedModelsWithoutTheInstructionsAreTold() throws {
        let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/quantized")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bytes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let names = ["qdq", "dynamic"]
        for name in names {
            try FileManager.default.copyItem(
                at: fixtures.appendingPathComponent(name + ".onnx"), to: folder.appendingPathComponent(name + ".onnx"))
        }
        let words = "4 of its layers compute with 8-bit integers, and "
        // With "auto", a comparison finds the wrong sums, and ONNX Runtime runs the model.
        let onOpenVINO = ["OCELLI_ENGINE": "openvino"]
        let environment = ["ONEDNN_MAX_CPU_ISA": "AVX2"]
        for name in names {
            let path = folder.path + "/" + name + ".onnx"
            let limited = try Shell.run(
                Daemon.binary.path, ["check", path], environment: environment.merging(onOpenVINO) { $1 })
            #expect(limited.status == 0, "\(limited.errors)")
            let line = "warning: \(words)the environment variable ONEDNN_MAX_CPU_ISA (AVX2) switches VNNI off"
            #expect(limited.text.contains(line) == (name == "qdq" && Self.isX86), "\(limited.text)")
            let plain = try Shell.run(Daemon.binary.path, ["check", path], environment: onOpenVINO)
            #expect(
                plain.text.contains(words) == (name == "qdq" && Self.isX86 && !TestProcessor.hasVNNI), "\(plain.text)")
        }
        guard Self.isX86 else { return }
        let daemon = try Daemon(
            ["--models", folder.path, "--cache-dir", "", "--engine", "openvino"], environment: environment)
        #expect(daemon.stop() == 0)
        let lines = daemon.log.split(separator: "\n").filter { $0.contains(words) }
        #expect(lines.count == 1 && lines[0].contains("model qdq version 1: "), "\(daemon.log)")
    }

    /// A cache may be copied to a machine with another processor, as in an image.
    @Test("the choice of an engine holds only for the instructions for which it was made")
    func choicesAreForAProcessor() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bytes-\(UUID().uuidString)")
        let models = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/quantized/qdq.onnx"),
            to: models.appendingPathComponent("qdq.onnx"))
        let exact = TestProcessor.hasVNNI || !Self.isX86 ? "openvino" : "onnxruntime"
        for (limit, expected) in [("", exact), ("AVX2", Self.isX86 ? "onnxruntime" : "openvino"), ("", exact)] {
            let daemon = try Daemon(
                ["--models", models.path, "--cache-dir", folder.path],
                environment: limit.isEmpty ? [:] : ["ONEDNN_MAX_CPU_ISA": limit])
            let engine = try Curl.run(daemon.url + "/v1/models/qdq").json["engine"] as? [String: Any]
            #expect(engine?["name"] as? String == expected, "\(limit): \(engine ?? [:]) \(daemon.log)")
            #expect(daemon.stop() == 0)
        }
    }

    /// Kernels for other architectures do not saturate.
    private static var isX86: Bool {
        #if arch(x86_64)
            true
        #else
            false
        #endif
    }

    @Test("`ocelli check` refuses a `runtime.integer_weights` that is not true or false")
    func theSettingMustBeTrueOrFalse() throws {
        let folder = try folder(runtime: "{ \"integer_weights\": \"yes\" }")
        defer { try? FileManager.default.removeItem(at: folder) }
        let check = try Shell.run(Daemon.binary.path, ["check", folder.path + "/net"])
        #expect(check.status != 0 && check.errors.contains("runtime.integer_weights"), "\(check.errors)")
    }
}

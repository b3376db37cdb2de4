import Foundation
import TestSupport
import Testing

/// Model files that are named without a slash, from their own folder: they are the same files as by their whole paths.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: TestEngines.hasONNXRuntime, Comment(rawValue: TestEngines.absence)), .serialized)
final class BareNamesTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // OpenVINO ignores the antialias, so only ONNX Runtime's answer is right.
        let resize = ONNXFile(
            [
                ONNXFile.Node(
                    "Resize", ["x", "", "scales"], ["y"], integers: [("antialias", [1])], texts: [("mode", "linear")])
            ],
            inputs: [("x", [1, 1, 1, 12])], outputs: [("y", [1, 1, 1, 6])], constants: [("scales", [1, 1, 1, 0.5])])
        try resize.bytes.write(to: folder.appendingPathComponent("aa.onnx"))
        let table = TabularTests.fixtures.appendingPathComponent("models/iris_plain.onnx")
        try FileManager.default.copyItem(at: table, to: folder.appendingPathComponent("table.onnx"))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func ocelli(_ arguments: String...) throws -> Shell.Result {
        try Shell.run(
            Daemon.binary.path, arguments, environment: ["XDG_CACHE_HOME": folder.path + "/cache"], directory: folder)
    }

    @Test("`ocelli check` finds the engine of a file that is named without a slash", arguments: ["", "./"])
    func bareNamesAreChecked(_ prefix: String) throws {
        for name in ["aa.onnx", "table.onnx"] {
            let result = try ocelli("check", prefix + name)
            #expect(result.status == 0 && result.text.hasPrefix(prefix + name + ": good for predict"), "\(result)")
            #expect(result.text.contains("runs on ONNX Runtime"), "\(result.text)")
        }
    }

    /// By ONNX's definition each value is the sum of four, weighted 1/8, 3/8, 3/8, 1/8.
    @Test(
        "a model that is served by a name without a slash answers as by its whole path",
        arguments: [["--model", "aa=aa.onnx", "--model", "table=table.onnx"], ["--models", "."]])
    func bareNamesAreServed(_ flags: [String]) throws {
        let daemon = try Daemon(
            flags + ["--cache-dir", folder.path + "/" + UUID().uuidString],
            launcher: ["--chdir", folder.path])
        defer { daemon.stop() }
        let body = Data(#"{"inputs": {"x": [0, 0, 0, 8, 0, 16, 0, 0, 0, 0, 0, 0]}}"#.utf8)
        let answer = try Curl.run(daemon.url + "/v1/models/aa/predict", ["--data-binary", "@-"], input: body)
        let outputs = answer.json["outputs"] as? [String: Any]
        #expect(
            "\(outputs?["y"] ?? answer.text)".filter { "0123456789.,".contains($0) } == "0,3,7,2,0,0", "\(answer.text)")
        let state = try Curl.run(daemon.url + "/v1/models/table").json
        #expect(state["state"] as? String == "ready", "\(state)")
    }

    @Test("a model of a bare name is compiled, measured and described as by its whole path")
    func bareNamesForOtherCommands() throws {
        let compiled = try ocelli("compile", "aa.onnx", "--cache-dir", "compiled")
        #expect(compiled.status == 0, "\(compiled)")
        // Of open and of fixed shapes.
        for name in ["table.onnx", "aa.onnx"] {
            let report = try ocelli("report", name, "--seconds", "10ms", "--json")
            #expect(report.status == 0 && "\(report.json["engine"] ?? "")".contains("ONNX Runtime"), "\(report)")
        }
        let own = folder.appendingPathComponent("resizer")
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        try FileManager.default.moveItem(
            at: folder.appendingPathComponent("aa.onnx"), to: own.appendingPathComponent("aa.onnx"))
        let names = try ["aa.onnx", "./aa.onnx", own.path + "/aa.onnx"].map { name in
            let draft = try Shell.run(Daemon.binary.path, ["init", "--stdout", name], directory: own)
            #expect(draft.status == 0, "\(draft)")
            return draft.text
        }
        #expect(Set(names).count == 1 && names[0].contains(#""id": "resizer""#), "\(names)")
    }
}

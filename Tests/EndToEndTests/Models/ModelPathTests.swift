import Foundation
import TestSupport
import Testing

/// Models that the command line names by their paths: a file, a bundle, a folder of numbered versions.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
final class ModelPathTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
    private static let digits = SharedData.packageRoot.appendingPathComponent("models/digits")
    private static let seven = BadInputTests.seven.path

    init() throws {
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("ten"), withIntermediateDirectories: true)
        for place in ["one", "ten/2", "ten/10"] {
            try FileManager.default.copyItem(at: Self.digits, to: folder.appendingPathComponent(place))
        }
        try FileManager.default.copyItem(
            at: Self.digits.appendingPathComponent("digits.onnx"), to: folder.appendingPathComponent("yolo.onnx"))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func ocelli(_ arguments: String...) throws -> Shell.Result {
        try Shell.run(
            Daemon.binary.path, arguments, environment: ["XDG_CACHE_HOME": Daemon.cache.path], directory: folder)
    }

    @Test(
        "a path serves the model that it means, and no other, under the name of its file or folder",
        arguments: [
            (["yolo.onnx"], "yolo", "1"), (["--models", "yolo.onnx"], "yolo", "1"),
            (["--model", "yolo.onnx"], "yolo", "1"), (["one"], "one", "1"), (["--models", "one/"], "one", "1"),
            (["--model", "./one"], "one", "1"), (["ten"], "ten", "10"), (["--models", "ten"], "ten", "10"),
            (["--model", "./ten"], "ten", "10"), (["--models=one", "--default-model=one"], "one", "1"),
        ])
    func aPathIsServed(_ arguments: [String], _ name: String, _ version: String) throws {
        let daemon = try Daemon(arguments, launcher: ["--chdir", folder.path])
        defer { daemon.stop() }
        let models = try Curl.run(daemon.url + "/v1/models").json["models"] as? [[String: Any]] ?? []
        #expect(models.map { $0["name"] as? String } == [name] && models[0]["version"] as? String == version)
        // The bare file has no labels.
        guard name != "yolo" else { return }
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7")
    }

    @Test("several paths are served together")
    func severalPathsAreServed() throws {
        let daemon = try Daemon(["yolo.onnx", "ten", "--models", "one"], launcher: ["--chdir", folder.path])
        defer { daemon.stop() }
        let models = try Curl.run(daemon.url + "/v1/models").json["models"] as? [[String: Any]] ?? []
        #expect(models.compactMap { $0["name"] as? String }.sorted() == ["one", "ten", "yolo"])
    }

    /// `ocelli serve yolo.onnx 2>ocelli.log` in the folder of the model.
    @Test("a file next to a served model file may change, and weights in files of other names may not")
    func theLogMayBeNextToTheModel() throws {
        let log = folder.appendingPathComponent("ocelli.log")
        try Data().write(to: log)
        let writer = Process()
        writer.executableURL = URL(fileURLWithPath: "/bin/sh")
        writer.arguments = ["-c", "while :; do echo line >>'\(log.path)'; sleep 0.01; done"]
        try writer.run()
        defer { writer.terminate() }
        let daemon = try Daemon(["yolo.onnx", "--cache-dir", ""], launcher: ["--chdir", folder.path])
        defer { daemon.stop() }
        let state = try Curl.run(daemon.url + "/v1/models/yolo").json
        #expect(state["state"] as? String == "ready", "\(state)")
    }

    @Test("what is not a model is refused with what was expected")
    func otherPathsAreRefused() throws {
        for (arguments, words) in [
            (["serve", "none.onnx"], "/none.onnx does not exist"), (["serve", "none"], "/none does not exist"),
            (["serve", "one/labels.txt"], "is not a supported model file: expected .onnx"),
            (["classify", "--model", "none.onnx", Self.seven], "none.onnx does not exist"),
            (["classify", "--model", "none", Self.seven], "unknown model \"none\""),
        ] {
            let result = try Shell.run(Daemon.binary.path, arguments, directory: folder)
            #expect(result.status != 0 && result.errors.contains(words), "\(arguments): \(result.errors)")
        }
    }

    @Test("the commands take the newest of numbered versions, and say which")
    func theNewestVersionIsTaken() throws {
        let note = "note: ten has the versions 2, 10; version 10 is used"
        let expected = folder.appendingPathComponent("expected.csv")
        try Data("picture,label\n\(Self.seven),7\n".utf8).write(to: expected)
        let pictures = folder.appendingPathComponent("pictures")
        try FileManager.default.createDirectory(at: pictures, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: Self.seven, toPath: pictures.path + "/seven.png")
        for (arguments, words) in [
            (["classify", "--model", "ten", Self.seven], "7"), (["classify", "--model=ten/", Self.seven], "7"),
            (["classify", "--try", "ten", Self.seven], "nothing is left to decide"),
            (["check", "ten", "--against", expected.path], "1 of 1 agree"),
            (["compare", "ten", "one", pictures.path], "1 of 1 answers agree"),
        ] {
            let result = try Shell.run(Daemon.binary.path, arguments, directory: folder)
            #expect(result.status == 0 && result.text.contains(words), "\(arguments): \(result.text)\(result.errors)")
            #expect(
                result.errors.contains(note) || result.errors.contains(note.replacing("ten ", with: "ten/ ")),
                "\(arguments): \(result.errors)")
        }
        // These reports have the path of the version.
        let report = try ocelli("report", "ten", "--seconds", "10ms")
        #expect(report.text.contains("/ten/10)"), "\(report.text)\(report.errors)")
        for arguments in [["ten"], ["--model", "ten"]] {
            let bench = try Shell.run(
                Daemon.binary.path, ["bench", "--seconds", "200ms"] + arguments, directory: folder)
            #expect(bench.text.contains("ten  (") && bench.text.contains("/ten/10)"), "\(bench.text)\(bench.errors)")
        }
    }

    @Test("a model file or a bundle is a model for `--model` of each command that runs pictures")
    func modelTakesPaths() throws {
        let classified = try ocelli("classify", "--model", "one", "--json", Self.seven)
        #expect(classified.json["model"] as? String == "one", "\(classified.errors)")
        // A model of this name comes first.
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("digits"), withIntermediateDirectories: true)
        #expect(try ocelli("classify", "--model", "digits", Self.seven).status == 0)
        let bare = try ocelli("classify", "--model", "yolo.onnx", Self.seven)
        #expect(bare.errors.contains("model \"yolo\" is not an image classifier"), "\(bare.errors)")
        let detector = try ocelli("detect", "--model", "./one", Self.seven)
        #expect(detector.errors.contains("model \"one\" has no output of type"), "\(detector.errors)")
    }

    /// MoveNet's files have such inputs. The color is that of the picture's file, by Pillow.
    @Test("a picture becomes a tensor of 32-bit integers, of pixels from 0 to 255")
    func picturesAreWholeNumbers() throws {
        let bundle = folder.appendingPathComponent("mean")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try ONNXFile(
            [
                ONNXFile.Node("Cast", ["image"], ["numbers"], integers: [("to", [1])]),
                ONNXFile.Node("ReduceMean", ["numbers"], ["mean"], integers: [("axes", [1, 2]), ("keepdims", [0])]),
            ], inputs: [("image", [1, 8, 8, 3])], outputs: [("mean", [1, 3])], opset: 13
        ).withIntegerInputs.bytes.write(to: bundle.appendingPathComponent("m.onnx"))
        let manifest = """
            {"name": "mean", "id": "mean", "version": "1", "model": {"file": "m.onnx"}, "inputs": [{"name": "image", "type": "image", "dtype": "int32",
             "shape": [8, 8, 3], "format": "BGR", "crop_and_scale": "fill"}],
             "outputs": [{"name": "mean", "type": "embedding", "normalize": "none"}]}
            """
        try Data(manifest.utf8).write(to: bundle.appendingPathComponent("model.json"))
        let red = CoreMLFixtures.product.appendingPathComponent("red.png").path
        let answer = try ocelli("embed", "--model", "mean/", "--json", red)
        #expect(answer.json["embedding"] as? [Double] == [20, 30, 220], "\(answer.text)\(answer.errors)")
    }
}

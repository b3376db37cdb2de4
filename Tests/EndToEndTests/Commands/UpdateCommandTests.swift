import Foundation
import TestSupport
import Testing

/// `ocelli update` on the files of Tests/Fixtures/updatable, compared with TensorFlow's weights after training.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct UpdateCommandTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/updatable")
    private let work = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-u-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true) }

    private func expected(_ name: String) throws -> [String: Any] {
        let data = try Data(contentsOf: Self.folder.appendingPathComponent(name + ".json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// The examples of a fixture as a file next to its pictures' folder.
    private func data(_ name: String) throws -> String {
        let examples = try #require(try expected(name)["examples"] as? [[String: Any]])
        let lines = try examples.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        try FileManager.default.copyItem(
            at: Self.folder.appendingPathComponent("pictures"), to: work.appendingPathComponent("pictures"))
        let file = work.appendingPathComponent("examples.jsonl")
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
        return file.path
    }

    private func update(_ name: String, _ data: String, _ more: [String] = []) throws -> Shell.Result {
        try Shell.run(
            Daemon.binary.path,
            ["update", Self.folder.appendingPathComponent(name + ".mlmodel").path, data, "-o", output.path] + more)
    }

    private var output: URL { work.appendingPathComponent("new.mlmodel") }

    /// The frozen part runs in the engine, and pictures are files: the losses are still TensorFlow's.
    @Test(
        "`ocelli update` has TensorFlow's losses, writes a valid file and leaves the original as before",
        arguments: [
            ("convolution-classifier", [String]()), ("pooling-regressor", []),
            ("dense-regressor", ["--epochs", "10", "--mini-batch", "6", "--learning-rate", "0.02"]),
        ])
    func lossesAreTensorFlowsAndTheFileServes(_ name: String, _ flags: [String]) throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let original = try Data(contentsOf: Self.folder.appendingPathComponent(name + ".mlmodel"))
        let result = try update(name, data(name), flags + ["--json"])
        #expect(result.status == 0, "\(result.errors)")
        let losses = (result.json["epochs"] as? [[String: Any]])?.compactMap { $0["loss"] as? Double } ?? []
        let wanted = try #require(try expected(name)["losses"] as? [Double])
        #expect(losses.count == wanted.count)
        for (loss, other) in zip(losses, wanted) { #expect(abs(loss - other) < 1e-4) }
        #expect(try Data(contentsOf: Self.folder.appendingPathComponent(name + ".mlmodel")) == original)
        let check = try Shell.run(Daemon.binary.path, ["check", output.path])
        #expect(check.status == 0, "\(check.text)\(check.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: work.path).filter { $0.hasPrefix(".") } == [])
    }

    @Test(
        "`ocelli update` of a nearest-neighbours model has no epochs, and replaces a file with --force only",
        arguments: ["neighbors-empty", "neighbors-numbers", "neighbors-pipeline"])
    func neighborsLearnWithoutEpochs(_ name: String) throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let data = try data(name)
        let result = try update(name, data, ["--json"])
        #expect(result.status == 0, "\(result.errors)")
        #expect((result.json["epochs"] as? [Any])?.isEmpty == true && result.json["examples"] as? Int ?? 0 >= 5)
        let again = try update(name, data)
        #expect(again.status == 1 && again.errors.contains("already exists"), "\(again.errors)")
        #expect(try update(name, data, ["--force"]).status == 0)
    }

    @Test("`ocelli update` names wrong options, examples and models, and writes nothing")
    func mistakesAreNamed() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let file = work.appendingPathComponent("one.jsonl")
        let x = #"{"inputs": {"x": [1, 2, 3, 4, 5, 6]}, "label": "bolt"}"#
        for (text, flags, words) in [
            (x, ["--epochs", "2"], "epochs 2 is not among the values that the file allows: 1, 5, 10"),
            (x, ["--learning-rate", "2"], "learning_rate 2.0 is not in the range that the file allows: 0.001 to 0.5"),
            (#"{"inputs": {"x": [1, 2]}, "label": "bolt"}"#, [], "line 1: input \"x\": expected 6 numbers"),
            (
                x + "\n" + #"{"inputs": {"x": [1, 2, 3, 4, 5, 6]}, "label": "cog"}"#, [],
                "the model has no class \"cog\""
            ),
            (#"{"inputs": {"x": [1, 2, 3, 4, 5, 6]}, "label": 7}"#, [], "\"label\": expected a string, found a number"),
            (#"{"inputs": {"x": [1, 2, 3, 4, 5, 6]}}"#, [], "\"label\" is missing"),
            ("", [], "has no examples"), ("[", [], "line 1"),
        ] {
            try Data(text.utf8).write(to: file)
            let result = try update("dense-classifier", file.path, flags)
            #expect(result.status != 0 && result.errors.contains(words), "\(result.errors)")
            #expect(!FileManager.default.fileExists(atPath: output.path))
        }
        let other = try Shell.run(
            Daemon.binary.path,
            [
                "update", CoreMLFixtures.product.appendingPathComponent("colors.mlmodel").path, file.path, "-o",
                output.path,
            ])
        #expect(other.status == 1 && other.errors.contains("not updatable"), "\(other.errors)")
        let itself = Self.folder.appendingPathComponent("dense-classifier.mlmodel").path
        let onto = try Shell.run(Daemon.binary.path, ["update", itself, file.path, "-o", itself, "--force"])
        #expect(onto.status == 1 && onto.errors.contains("never changed"), "\(onto.errors)")
    }

    /// A Python with coremltools, which is not among the tools of the tests; OCELLI_COREMLTOOLS names one.
    private static let coremltools: String? = {
        let named = ProcessInfo.processInfo.environment["OCELLI_COREMLTOOLS"]
        return [named, "python3"].compactMap { $0 }.first { program in
            (try? Shell.run(program, ["-c", "import coremltools"]))?.status == 0
        }
    }()

    /// The library that wrote the files opens them, and finds TensorFlow's weights and no other change.
    @Test(
        "coremltools opens the updated file, and finds that only the expected weights changed",
        .enabled(
            if: coremltools != nil,
            "no Python with coremltools: python3 -m venv V && V/bin/pip install coremltools, and OCELLI_COREMLTOOLS=V/bin/python"
        ),
        arguments: [
            "dense-classifier", "convolution-classifier", "pooling-regressor", "neighbors-empty", "neighbors-numbers",
            "neighbors-pipeline",
        ])
    func coremltoolsOpensWhatIsWritten(_ name: String) throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let result = try update(name, data(name))
        #expect(result.status == 0, "\(result.errors)")
        let check = try Shell.run(
            try #require(Self.coremltools),
            [
                SharedData.packageRoot.appendingPathComponent("Tests/Parity/check-updated-model").path,
                Self.folder.appendingPathComponent(name + ".mlmodel").path, output.path,
                Self.folder.appendingPathComponent(name + ".json").path,
            ])
        #expect(check.status == 0, "\(check.text)\(check.errors)")
    }

    /// The inputs follow a model.json, with comments or without: the pictures are scaled differently, and so are the
    /// losses.
    @Test("`ocelli update` scales pictures as in a model.json, in JSON and in JSON5")
    func overridesOfAModelJSONCount() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let name = "convolution-classifier", data = try data(name)
        func losses(_ manifest: String?) throws -> [Double] {
            let bundle = work.appendingPathComponent("bundle")
            try? FileManager.default.removeItem(at: bundle)
            try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: Self.folder.appendingPathComponent(name + ".mlmodel"),
                to: bundle.appendingPathComponent("m.mlmodel"))
            try manifest.map { try Data($0.utf8).write(to: bundle.appendingPathComponent("model.json")) }
            let result = try Shell.run(
                Daemon.binary.path,
                [
                    "update", manifest == nil ? bundle.path + "/m.mlmodel" : bundle.path, data, "-o", output.path,
                    "--force", "--json",
                ])
            #expect(result.status == 0, "\(result.errors)")
            return (result.json["epochs"] as? [[String: Any]])?.compactMap { $0["loss"] as? Double } ?? []
        }
        let head = #"{"name": "m", "id": "m", "version": "1", "model": {"file": "m.mlmodel", "backend": "coreml"}"#
        let inputs = #""inputs": [{"name": "image", "normalize": {"scale": 0.01}}]"#
        let plain = try losses(nil), json = try losses("\(head), \(inputs)}")
        let json5 = try losses("// By hand\n\(head), 'inputs': [{name: 'image', normalize: {scale: 0.01,},},],}")
        #expect(json5 == json && !json.isEmpty)
        #expect(json != plain, "the override changes what is learned")
    }
}

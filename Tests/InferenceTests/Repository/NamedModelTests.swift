import Foundation
import Inference
internal import Repository
import TestSupport
import Testing

/// Models that are served under an explicit name, and the readiness of the whole.
@Suite(.timeLimit(.minutes(2))) struct NamedModelTests {
    @Test(
        "NAME=PATH is split at the first equals sign, and a trailing slash is removed",
        arguments: [
            ("cats=/mnt/models", "cats", "/mnt/models"), ("a=b=c", "a", "b=c"), ("x=./m.onnx", "x", "./m.onnx"),
            ("x=/mnt/models/", "x", "/mnt/models"), ("x=/", "x", "/"),
        ])
    func nameAndPathAreRead(text: String, name: String, path: String) {
        #expect(NamedModel(parsing: text) == NamedModel(name: name, path: path))
    }

    @Test(
        "a path alone gives the model the name of its file or folder",
        arguments: [
            ("yolo.onnx", "yolo"), ("/mnt/yolo.onnx", "yolo"), ("./cats/", "cats"), ("/mnt/a b.tflite", "a b"),
            ("../net.mlpackage", "net"),
        ])
    func aPathAloneHasTheNameOfItsFile(text: String, name: String) {
        #expect(NamedModel(parsing: text) == NamedModel(name: name, path: text))
    }

    @Test(
        "text that is not a valid NAME=PATH is refused",
        arguments: ["", "cats", "=/mnt", "cats=", "a/b=/mnt", "a b=/mnt", "a\n=/mnt"])
    func whatIsNotNameAndPathIsRefused(text: String) {
        #expect(NamedModel(parsing: text) == nil)
    }

    private func repository(_ folder: TemporaryFolder, _ models: [String: String]) -> ModelRepository {
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        let named = models.map { NamedModel(name: $0.key, path: folder.url.path + "/" + $0.value) }
        return ModelRepository(folders: [], named: named, configuration: configuration)
    }

    @Test("a named model may be a bundle, a bare file, a folder around either, or numbered versions")
    func everyFormOfPlaceIsServed() async throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "bundle/model.json": Bundles.manifest(), "bundle/m.onnx": "", "bare.onnx": "", "holder/m.onnx": "",
            "outer/inner/model.json": Bundles.manifest(), "outer/inner/m.onnx": "",
            "numbered/1/m.onnx": "", "numbered/3/m.onnx": "",
        ])
        let repository = repository(
            folder,
            ["a": "bundle", "b": "bare.onnx", "c": "holder", "d": "numbered", "e": "not/there/yet", "f": "outer"])
        try repository.discover()
        #expect(repository.names == ["a", "b", "c", "d", "e", "f"])
        #expect(repository.records.filter { $0.name == "d" }.map(\.version) == ["1", "3"])
        await repository.loadEager()
        for name in ["a", "b", "c", "d", "f"] { #expect(try repository.readyModel(named: name) != nil, "\(name)") }
        #expect(!repository.isReady())
        #expect(repository.isReady(when: .any))
        #expect(repository.isReady(when: .models(["a", "d"])))
        #expect(!repository.isReady(when: .models(["a", "e"])))
        #expect(!repository.isReady(when: .models(["unknown"])))
    }

    @Test("a named model whose path appears later is served after the next discovery")
    func placeThatAppearsLaterIsTakenIn() async throws {
        let folder = try TemporaryFolder()
        let repository = repository(folder, ["m": "mount"])
        try repository.discover()
        #expect(repository.names == ["m"])
        #expect(try repository.readyModel(named: "m") == nil)
        // As with a mount: a link to the folder with the files.
        try folder.write(["elsewhere/m.onnx": ""])
        try FileManager.default.createSymbolicLink(
            atPath: folder.url.path + "/mount", withDestinationPath: folder.url.path + "/elsewhere")
        try repository.discover()
        await repository.loadEager()
        #expect(try repository.readyModel(named: "m") != nil)
    }

    @Test("a named model wins over a model of the same name in a models folder")
    func nameOfItsOwnWinsOverTheFolders() throws {
        let folder = try TemporaryFolder()
        try folder.write(["models/m.onnx": "", "other/x.onnx": ""])
        let repository = ModelRepository(
            folders: [folder.url.path + "/models"],
            named: [NamedModel(name: "m", path: folder.url.path + "/other/x.onnx")], configuration: ModelConfiguration()
        )
        try repository.discover()
        #expect(repository.records.map(\.name) == ["m"])
    }

    /// The folder is exchanged atomically for one with other names: the old model answers until the new one is ready.
    @Test(
        "a replaced version of a named model answers until the new version is ready",
        arguments: [
            ("old/1/m.onnx", "new/2/m.onnx"), ("old/3/m.onnx", "new/2/m.onnx"), ("old/a/m.onnx", "new/b/m.onnx"),
        ])
    func replacedVersionAnswersUntilTheNewOneIsReady(old: String, new: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write([old: "", new: ""])
        let repository = repository(folder, ["m": "mount"])
        let mount = folder.url.path + "/mount"
        try FileManager.default.createSymbolicLink(atPath: mount, withDestinationPath: folder.url.path + "/old")
        try repository.discover()
        await repository.loadEager()
        let before = try #require(try repository.readyModel(named: "m"))
        try FileManager.default.removeItem(atPath: mount)
        try FileManager.default.createSymbolicLink(atPath: mount, withDestinationPath: folder.url.path + "/new")
        for _ in 0..<2 {
            try repository.discover()
            #expect(try repository.readyModel(named: "m") === before)
            #expect(repository.isReady())
        }
        await repository.loadEager()
        let after = try #require(try repository.readyModel(named: "m"))
        #expect(after !== before)
        #expect(repository.records.count == 1)
        // Back to the old folder, with an unload before it: no model is waited for.
        try FileManager.default.removeItem(atPath: mount)
        try FileManager.default.createSymbolicLink(atPath: mount, withDestinationPath: folder.url.path + "/old")
        try repository.discover()
        try repository.unload("m")
        #expect(try repository.readyModel(named: "m") == nil)
        try repository.discover()
        #expect(repository.records.count == 1)
        #expect(repository.isReady())
    }

    @Test("the readiness check names the models that are missing")
    func modelsThatAreMissingAreNamed() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["bare.onnx": ""])
        let repository = repository(folder, ["a": "bare.onnx", "b": "absent"])
        try repository.discover()
        #expect(repository.missing(for: .all).map(\.name) == ["a", "b"])
        #expect(repository.missing(for: .any).map(\.name) == ["a", "b"])
        await repository.loadEager()
        #expect(repository.missing(for: .all).map(\.name) == ["b"])
        #expect(repository.missing(for: .any).isEmpty)
        let missing = repository.missing(for: .models(["c", "a", "b"]))
        #expect(missing.map(\.name) == ["b", "c"])
        #expect(missing.map { $0.state?.name } == ["failed", nil])
    }

    /// A mount is watched while it is filled: an incomplete model fails, and is never ready.
    @Test("a named model's folder is not ready until it is complete, and the old model answers until then")
    func placeThatIsBeingFilledIsWaitedFor() async throws {
        let folder = try TemporaryFolder()
        let repository = repository(folder, ["m": "mount"])
        try repository.discover()
        await repository.loadEager()
        let watcher = try RepositoryWatcher(repository)
        func look() async throws {
            for _ in 0..<2 { if try watcher.scan() { try await watcher.applyChanges() } }
            #expect(repository.names == ["m"])
        }
        try await look()
        #expect(!repository.isReady())
        // The manifest comes first, and its model file later.
        try folder.write(["mount/model.json": Bundles.manifest()])
        try await look()
        #expect(!repository.isReady())
        #expect(repository.records.first?.state.name == "failed")
        try folder.write(["mount/m.onnx": ""])
        try await look()
        #expect(repository.isReady())
        let before = try #require(try repository.readyModel(named: "m"))
        // It becomes a folder of versions, the first of which is being copied, and then disappears: the old model
        // answers.
        try FileManager.default.removeItem(atPath: folder.url.path + "/mount")
        try folder.write(["mount/1/model.json": Bundles.manifest()])
        try await look()
        #expect(try repository.readyModel(named: "m") === before)
        try FileManager.default.removeItem(atPath: folder.url.path + "/mount")
        try await look()
        #expect(try repository.readyModel(named: "m") === before)
        try folder.write(["mount/1/model.json": Bundles.manifest(), "mount/1/m.onnx": ""])
        try await look()
        #expect(repository.isReady())
        #expect(try repository.readyModel(named: "m") !== before)
        #expect(repository.records.map(\.version) == ["1"])
    }
}

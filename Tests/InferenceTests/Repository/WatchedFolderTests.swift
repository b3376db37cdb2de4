import Foundation
import Inference
internal import Repository
import Synchronization
import Testing

/// Watched folders: when a change is loaded, and which models a short absence does not lose.
@Suite(.timeLimit(.minutes(2))) struct WatchedFolderTests {
    @Test("a watched folder loads a new or changed model when its files are complete and no longer change")
    func aWatchedFolderIsTakenInWhenItIsWholeAndAtRest() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["a/model.json": Bundles.manifest(), "a/m.onnx": "1"])
        let (repository, events) = try Bundles.repository(folder)
        let watcher = try RepositoryWatcher(repository)
        await repository.loadEager()
        func look() async throws -> [String] {
            events.list.withLock { $0 = [] }
            if try watcher.scan() { try await watcher.applyChanges() }
            return events.all
        }
        #expect(try await look() == [])
        // A bundle that is copied file by file, and byte by byte.
        try folder.write(["b/model.json": Bundles.manifest()])
        #expect(try await look() == [], "it is new")
        #expect(try await look() == ["left alone b"], "it is at rest, but not whole")
        #expect(try await look() == [], "that is reported once")
        #expect(repository.names == ["a"])
        for text in ["1", "12", "123"] {
            try folder.write(["b/m.onnx": text])
            #expect(try await look() == [])
        }
        #expect(repository.names == ["a"])
        // Another, complete bundle does not wait for it, and does not cause it to be loaded.
        try folder.write(["c/model.json": Bundles.manifest(), "c/m.onnx": ""])
        try folder.write(["b/m.onnx": "1234"])
        #expect(try await look() == [])
        try folder.write(["b/m.onnx": "12345"])
        #expect(try await look() == ["loaded c 1"])
        #expect(repository.names == ["a", "c"])
        #expect(try await look() == ["loaded b 1"])
        #expect(try await look() == [])
        // A changed model is loaded while the old one answers, once its files no longer change.
        let old = try await repository.model(named: "a")
        try folder.write(["a/model.json": Bundles.manifest(version: "2")])
        #expect(try await look() == [])
        #expect(try await repository.model(named: "a") === old)
        #expect(try await look() == ["loaded a 2"])
        // A damaged model leaves the old one serving, and is tried again when it changes.
        try folder.write(["a/model.json": "{"])
        #expect(try await look() == [])
        #expect(try await look() == ["failed a 2"])
        #expect(try await look() == [])
        #expect(try await repository.model(named: "a").description.version == "2")
        try folder.write(["a/model.json": Bundles.manifest(version: "3")])
        #expect(try await look() == [])
        #expect(try await look() == ["loaded a 3"])
        // A model that is missing for a moment stays.
        let path = folder.url.appendingPathComponent("c").path, away = folder.url.appendingPathComponent("_c").path
        try FileManager.default.moveItem(atPath: path, toPath: away)
        #expect(try await look() == [])
        try FileManager.default.moveItem(atPath: away, toPath: path)
        #expect(try await look() == [])
        try FileManager.default.removeItem(atPath: path)
        #expect(try await look() == [])
        #expect(try await look() == ["unloaded c 1"])
        #expect(repository.names == ["a", "b"])
        // A model that was unloaded on request stays unloaded.
        try repository.unload("b")
        try folder.write(["b/m.onnx": "123"])
        #expect(try await look() == [])
        #expect(try await look() == [])
        #expect(repository.records.last?.state == .unloaded)
    }

    @Test("a watched folder that is away for a moment loses no model")
    func aWatchedFolderThatIsAwayForAMomentLosesNothing() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["models/a/model.json": Bundles.manifest(), "models/a/m.onnx": "1"])
        let models = folder.url.appendingPathComponent("models").path,
            away = folder.url.appendingPathComponent("x").path
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        let repository = ModelRepository(folders: [models], configuration: configuration)
        try repository.discover()
        await repository.loadEager()
        let watcher = try RepositoryWatcher(repository)
        try FileManager.default.moveItem(atPath: models, toPath: away)
        for _ in 0..<3 { #expect(throws: RepositoryError.self) { try watcher.scan() } }
        #expect(try repository.readyModel(named: "a") != nil)
        try FileManager.default.moveItem(atPath: away, toPath: models)
        #expect(try !watcher.scan())
    }
}

import Foundation
import Inference
internal import Repository
import Synchronization
import Testing

/// Folders that cannot be read now: known models stay, and none is considered gone.
@Suite struct UnreadableFoldersTests {
    /// The disk, with failures at some paths.
    private final class Faults: Sendable {
        private let codes = Mutex<[String: Int32]>([:])
        let root: String

        init(_ folder: TemporaryFolder) { root = folder.url.path }

        /// Sets the error for listing a folder (`names:PATH`), or for reading the kind of a path; nil removes it.
        func set(_ path: String, _ code: Int32?) { codes.withLock { $0[path] = code } }

        private func failure(_ key: String) -> FileFailure? {
            codes.withLock { $0[key] }.map { FileFailure(code: $0) }
        }

        private func relative(_ path: String) -> String {
            String(path.dropFirst(root.count + 1))
        }

        var reader: FolderReader {
            FolderReader { (folder) throws(FileFailure) in
                if let failure = self.failure("names:" + self.relative(folder)) { throw failure }
                return try FolderReader.disk.names(folder)
            } kind: { (path) throws(FileFailure) in
                if let failure = self.failure(self.relative(path)) { throw failure }
                return try FolderReader.disk.kind(path)
            }
        }
    }

    private struct Scene {
        let folder: TemporaryFolder, faults: Faults, repository: ModelRepository, events: RepositoryEvents
        let engine = FakeEngine()

        init(_ files: [String: String], policy: LoadPolicy = .eager) throws {
            folder = try TemporaryFolder()
            try folder.write(files)
            faults = Faults(folder)
            events = RepositoryEvents()
            var configuration = ModelConfiguration()
            configuration.engine = engine
            repository = ModelRepository(
                folders: [folder.url.path], configuration: configuration, defaultPolicy: policy, reader: faults.reader,
                onEvent: events.add)
        }

        /// The events of a reload (SIGHUP).
        func reload() async throws -> [String] {
            events.list.withLock { $0 = [] }
            try repository.discover()
            await repository.reloadAll()
            return events.all
        }
    }

    private static let files = [
        "m/model.json": Bundles.manifest(), "m/m.onnx": "",
        "v/1/model.json": Bundles.manifest(), "v/1/m.onnx": "", "v/2/m.onnx": "",
    ]

    /// The path that fails, its error, and the models that stay unchanged.
    private static let failures: [(path: String, code: Int32, left: [String])] = [
        ("m", EIO, ["m 1"]), ("m/model.json", EACCES, ["m 1"]), ("v", ESTALE, ["v 1", "v 2"]),
        ("v/model.json", EACCES, ["v 1", "v 2"]), ("names:v", EMFILE, ["v 1", "v 2"]), ("v/1", EIO, ["v 1"]),
        ("v/1/model.json", EACCES, ["v 1"]), ("names:v/2", ENFILE, ["v 2"]),
    ]

    @Test("a loaded model stays as it is while its folder or files cannot be read", arguments: failures)
    func whatIsLoadedStays(_ failure: (path: String, code: Int32, left: [String])) async throws {
        let scene = try Scene(Self.files)
        try scene.repository.discover()
        await scene.repository.loadEager()
        var before: [ObjectIdentifier] = []
        for (name, version) in [("m", "1"), ("v", "1"), ("v", "2")] {
            before.append(ObjectIdentifier(try await scene.repository.model(named: name, version: version)))
        }
        let watcher = try RepositoryWatcher(scene.repository)
        scene.faults.set(failure.path, failure.code)
        let all = ["m 1", "v 1", "v 2"]
        func shown(_ models: [String]) -> [String] {
            models.map { (failure.left.contains($0) ? "left as it is " : "unchanged ") + $0 }
        }
        #expect(try await scene.reload() == shown(all))
        let folder = scene.folder.url.path + "/" + failure.left[0].prefix(1)
        let reason = try #require(scene.events.reasons.withLock { $0.last })
        #expect(reason.hasPrefix(folder) && reason.contains(String(cString: strerror(failure.code))), "\(reason)")
        // A watched folder reports the same.
        scene.events.list.withLock { $0 = [] }
        for _ in 0..<4 where try watcher.scan() { try await watcher.applyChanges() }
        #expect(scene.events.all == failure.left.map { "left as it is \($0)" })
        // A load on request also tries all of them.
        try scene.repository.discover()
        for (index, (name, version)) in [("m", "1"), ("v", "1"), ("v", "2")].enumerated() {
            let model = try await scene.repository.model(named: name, version: version)
            #expect(ObjectIdentifier(model) == before[index])
        }
        #expect(scene.repository.isReady())
        // When the path can be read again, nothing has changed.
        scene.faults.set(failure.path, nil)
        scene.events.list.withLock { $0 = [] }
        for _ in 0..<4 where try watcher.scan() { try await watcher.applyChanges() }
        #expect(scene.events.all == [])
        #expect(try await scene.reload() == all.map { "unchanged \($0)" })
        // A model without files is then unloaded.
        try FileManager.default.removeItem(atPath: scene.folder.url.path + "/m")
        #expect(try await scene.reload() == ["unloaded m 1", "unchanged v 1", "unchanged v 2"])
    }

    @Test("a model that cannot be read when first found has failed with the reason")
    func whatWasNotKnownHasFailedWithTheReason() async throws {
        let scene = try Scene(Self.files)
        scene.faults.set("names:v", EMFILE)
        scene.faults.set("m/model.json", EACCES)
        try scene.folder.write(["ok/model.json": Bundles.manifest(), "ok/m.onnx": ""])
        try scene.repository.discover()
        await scene.repository.loadEager()
        #expect(scene.events.all == ["failed m 1", "failed v 1", "loaded ok 1"])
        #expect(scene.repository.names == ["m", "ok", "v"])
        #expect(!scene.repository.isReady())
        #expect(scene.repository.leftOut == [])
        let states = scene.repository.records.map(\.state)
        guard case .failed(let first) = states[0], case .failed(let second) = states[2] else {
            Issue.record("\(states)")
            return
        }
        #expect(first.hasPrefix("m cannot be read: Permission denied") && first.contains("needs r and x"), "\(first)")
        #expect(second.hasPrefix("v cannot be read: Too many open files"), "\(second)")
        // A request, and a load on request, get the same reason.
        for again in [false, true] {
            let error = await #expect(throws: InferenceError.self) {
                if again {
                    try await scene.repository.reload("v")
                } else {
                    _ = try await scene.repository.model(named: "v")
                }
            }
            #expect(error?.message.contains("Too many open files") == true, "\(error?.message ?? "")")
        }
        #expect(try await scene.reload() == ["failed m 1", "unchanged ok 1", "failed v 1"])
        // An unloaded model is not waited for.
        try scene.repository.unload("m")
        try scene.repository.unload("v")
        #expect(scene.repository.isReady())
        #expect(try await scene.reload() == ["held back m 1", "unchanged ok 1", "held back v 1"])
        scene.faults.set("m/model.json", nil)
        scene.faults.set("names:v", nil)
        #expect(try await scene.reload() == ["held back m 1", "unchanged ok 1", "held back v 1", "held back v 2"])
        for name in ["m", "v"] { try await scene.repository.reload(name) }
        #expect(scene.repository.isReady())
    }

    @Test("a model that becomes readable is loaded by the next reload")
    func whatBecomesReadableIsLoaded() async throws {
        let scene = try Scene(Self.files)
        scene.faults.set("names:v", EIO)
        try scene.repository.discover()
        await scene.repository.loadEager()
        #expect(scene.events.all == ["failed v 1", "loaded m 1"])
        scene.faults.set("names:v", nil)
        #expect(try await scene.reload() == ["unchanged m 1", "loaded v 2"])
        #expect(scene.repository.isReady())
        // A new version that cannot be read leaves the others serving.
        try scene.folder.write(["v/3/m.onnx": ""])
        scene.faults.set("v/3/model.json", EACCES)
        #expect(try await scene.reload() == ["unchanged m 1", "unchanged v 2", "failed v 3"])
        #expect(try await scene.repository.model(named: "v").description.version == "2")
    }

    @Test("a watched folder skips a new bundle that cannot be read, and loads it once it is readable")
    func aWatchedFolderTakesInNothingThatItCannotRead() async throws {
        let scene = try Scene(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        try scene.repository.discover()
        await scene.repository.loadEager()
        let watcher = try RepositoryWatcher(scene.repository)
        func look() async throws -> [String] {
            scene.events.list.withLock { $0 = [] }
            if try watcher.scan() { try await watcher.applyChanges() }
            return scene.events.all
        }
        // Treated like an incomplete bundle, because its permissions may be set last.
        scene.faults.set("n/model.json", EACCES)
        try scene.folder.write(["n/model.json": Bundles.manifest(), "n/m.onnx": ""])
        #expect(try await look() == [])
        #expect(try await look() == ["left alone n"])
        #expect(try await look() == [])
        #expect(scene.repository.names == ["m"] && scene.repository.isReady())
        scene.faults.set("n/model.json", nil)
        try scene.folder.write(["n/m.onnx": "1"])
        #expect(try await look() == [])
        #expect(try await look() == ["loaded n 1"])
    }

    @Test(
        "a models folder that cannot be read is an error, and no model is dropped",
        arguments: [("names:", EMFILE), ("", EIO), (".", EACCES)])
    func aModelsFolderThatCannotBeReadDropsNothing(_ failure: (path: String, code: Int32)) async throws {
        let scene = try Scene(Self.files)
        try scene.repository.discover()
        await scene.repository.loadEager()
        let watcher = try RepositoryWatcher(scene.repository)
        scene.faults.set(failure.path, failure.code)
        let error = #expect(throws: RepositoryError.self) { try scene.repository.discover() }
        #expect(error?.message.contains(String(cString: strerror(failure.code))) == true, "\(error?.message ?? "")")
        #expect(throws: RepositoryError.self) { try watcher.scan() }
        // They load at the same time: either may be ready first.
        #expect(scene.events.all.sorted() == ["loaded m 1", "loaded v 2"])
        #expect(try scene.repository.readyModel(named: "m") != nil)
    }

    @Test("a lost+found folder that cannot be read is not taken for a model")
    func foldersOfTheFileSystemAreNotModels() throws {
        let scene = try Scene(["m/model.json": Bundles.manifest(), "m/m.onnx": "", "lost+found/x": ""])
        scene.faults.set("names:lost+found", EACCES)
        try scene.repository.discover()
        #expect(scene.repository.names == ["m"])
        #expect(scene.repository.leftOut == [])
    }
}

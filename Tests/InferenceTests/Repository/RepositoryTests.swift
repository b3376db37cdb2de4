import Foundation
import Inference
internal import Repository
import Synchronization
import TestSupport
import Testing

/// The models that are found in folders, and the version that a request gets, with an engine that the test controls.
@Suite(.timeLimit(.minutes(2))) struct RepositoryTests {
    @Test("bundles, numbered versions and bare files are found; entries that begin with . or _ are not")
    func everyKindOfEntryIsFound() throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "bundle/model.json": Bundles.manifest(), "bundle/m.onnx": "",
            "tensorio.tiobundle/model.json": Bundles.manifest(), "tensorio.tiobundle/m.onnx": "",
            "numbered/1/m.onnx": "", "numbered/2/model.json": Bundles.manifest(), "numbered/2/m.onnx": "",
            "numbered/notes/readme.txt": "", "bare.onnx": "", "notes.txt": "", ".hidden/model.json": "",
            "_copy/model.json": "",
        ])
        let (repository, _) = try Bundles.repository(folder)
        #expect(repository.names == ["bare", "bundle", "numbered", "tensorio"])
        #expect(repository.records.filter { $0.name == "numbered" }.map(\.version) == ["1", "2"])
    }

    /// It was meant as a new version, but is inside the folder of the only version.
    @Test("a numbered folder inside a bundle is not served, and the load of the bundle says so")
    func aNumberedFolderInABundleIsNoVersion() async throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "m/model.json": Bundles.manifest(), "m/m.onnx": "", "m/2/model.json": Bundles.manifest(version: "2"),
            "m/2/m.onnx": "",
        ])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        #expect(events.all == ["loaded m 1"])
        #expect(
            try await repository.model(named: "m").loadReport.advice == [
                "the folder 2 next to its files is not one of its versions and is not served: move its files into a numbered "
                    + "folder, too"
            ])
    }

    @Test(
        "numbered folders next to a bundle's files with models are reported, and are not versions of the bundle",
        arguments: [
            (["1/m.onnx", "12/model.json", "7/saved_model.pb", "golden/1/m.onnx"], "the folders 1, 7, 12 next to"),
            (["3/net.mlpackage/Manifest.json"], "the folder 3 next to"),
            ((1...6).map { "\($0)/m.onnx" }, "the folders 1, 2, 3, 4, 5, ... next to"),
            // Class folders of pictures, names that are not versions, a file, and the folder of the model itself.
            (["0/seven.png", "1/notes.txt", "v2/m.onnx", "1.5/m.onnx", "4"], nil), (["own/m.onnx"], nil),
        ] as [([String], String?)])
    func numberedFoldersInABundle(files: [String], words: String?) throws {
        let folder = try TemporaryFolder()
        let contents = files + ["model.json", "m.onnx", "9/saved_model.pb"]
        // A bundle that was exported for TensorFlow Serving.
        let manifest = Bundles.manifest().replacing(
            #""file": "m.onnx", "backend": "onnx""#, with: #""file": "9", "backend": "tensorflow""#)
        for file in contents { try folder.write([file: file == "model.json" ? manifest : ""]) }
        let advice = try ModelBundle(path: folder.url.path).adviceOnNumberedFolders
        #expect((advice == nil) == (words == nil) && advice?.hasPrefix(words ?? "") != false, "\(advice ?? "none")")
    }

    @Test("a TensorFlow SavedModel is served without a model.json, with or without numbered versions")
    func aSavedModelNeedsNoModelJSON() async throws {
        let folder = try TemporaryFolder()
        // As for TensorFlow Serving, and without versions.
        try folder.write(["a/1/saved_model.pb": "", "a/2/saved_model.pb": "", "b/saved_model.pb": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        #expect(events.all.sorted() == ["loaded a 2", "loaded b 1"])
        #expect(try await repository.model(named: "b").description.backend == "tensorflow")
        #expect(repository.leftOut == [])
        #expect(ModelRepository.contents(of: folder.url.path).served.map { $0.suffix(2) } == ["/1", "/2", "/b"])
        let itself = ModelRepository(folders: [folder.url.path + "/b"], configuration: ModelConfiguration())
        try itself.discover()
        #expect(itself.names == ["b"])
        #expect(ModelRepository.contents(of: folder.url.path + "/b").served == [])
    }

    @Test("entries of a models folder that are not models are reported with the reason")
    func entriesThatAreNotModelsAreReported() throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "m/model.json": Bundles.manifest(), "m/m.onnx": "", "m.onnx": "", "misspelt/model.jsn": "",
            "two/1/a.onnx": "",
            "two/1/b.onnx": "", "net.pt": "", ".hidden": "", "_copy/x": "", "ir.xml": "", "ir.bin": "", "other.bin": "",
            "big.onnx": "", "big.onnx.data": "", "face/config.json": "{}", "face/model.safetensors": "",
        ])
        let (repository, _) = try Bundles.repository(folder)
        #expect(repository.names == ["big", "ir", "m"])
        let reported = repository.leftOut
        #expect(
            reported.map { $0.prefix { $0 != " " } } == ["face", "m.onnx", "misspelt", "net.pt", "other.bin", "two"],
            "weights belong to their models")
        #expect(
            reported.first { $0.hasPrefix("m.onnx (its name is used by ") }?.hasSuffix("/m)") == true, "\(reported)")
        #expect(reported.contains { $0.hasPrefix("net.pt (PyTorch: export ") && $0.contains("torch.onnx.export") })
        #expect(reported.contains { $0.hasPrefix("face (") && $0.contains("model.safetensors is not supported") })
    }

    /// No request path can contain these names.
    @Test("models whose names no request path can contain are reported and not served")
    func modelsThatNoRequestCanNameAreReported() throws {
        let folder = try TemporaryFolder()
        let names = ["a\nb", "c\\d", "e\u{1B}[31m", "f\u{7F}"]
        for name in names { try folder.write([name + "/model.json": Bundles.manifest(), name + "/m.onnx": ""]) }
        try folder.write(["g h/model.json": Bundles.manifest(), "g h/m.onnx": "", "é\"<%2f?#.onnx": ""])
        #expect(mkdir(folder.url.path + "/i\u{FF}", 0o755) == 0)
        let bytes = Array(folder.url.path.utf8CString.dropLast()) + "/j".utf8.map(CChar.init) + [-1, 0]
        #expect(mkdir(bytes, 0o755) == 0)
        let (repository, _) = try Bundles.repository(folder)
        #expect(repository.names == ["g h", "é\"<%2f?#"])
        let reported = repository.leftOut
        #expect(reported.count == 6, "\(reported)")
        for name in names {
            #expect(reported.contains { $0.hasPrefix(name + " (its name has a control character or a backslash") })
        }
        #expect(reported.contains { $0.hasSuffix(" (its name is not UTF-8 text)") }, "\(reported)")
    }

    /// `ocelli init` tells the user to move a bare file into its own folder: the name is still served, and the log
    /// states the new path.
    @Test("the report of a missing bare file names the bundle that replaces it, if any")
    func aModelThatMovesIsNotReportedAsLost() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["a.onnx": "", "b.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        let path = folder.url.path
        for name in ["a", "b"] { try FileManager.default.removeItem(atPath: "\(path)/\(name).onnx") }
        try folder.write(["a/model.json": Bundles.manifest(), "a/m.onnx": ""])
        try repository.discover()
        await repository.reloadAll()
        #expect(repository.names == ["a"])
        #expect(
            events.unloads.withLock { $0 }.sorted() == [
                "\(path)/a.onnx is gone; \(path)/a replaces it", "\(path)/b.onnx is gone",
            ])
    }

    @Test("the error for models folders that cannot be read names all of them")
    func everyFolderThatCannotBeReadIsNamed() throws {
        let first = AbsentPath.path + "/a", second = AbsentPath.path + "/b"
        let repository = ModelRepository(folders: [first, second], configuration: ModelConfiguration())
        let error = #expect(throws: RepositoryError.self) { try repository.discover() }
        #expect(error?.message.contains(first) == true && error?.message.contains(second) == true)
    }

    @Test("the highest numbered version is served unless a request names another version")
    func theHighestVersionIsServedUnlessAnotherIsAskedFor() async throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "m/2/model.json": Bundles.manifest(), "m/2/m.onnx": "", "m/10/model.json": Bundles.manifest(),
            "m/10/m.onnx": "",
            // Not versions, because their names are not numbers.
            "m/v20/model.json": Bundles.manifest(), "m/v20/m.onnx": "", "m/11.bak/model.json": Bundles.manifest(),
            "m/11.bak/m.onnx": "",
        ])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        #expect(events.all == ["loaded m 10"])
        #expect(repository.records.map(\.version) == ["2", "10"])
        #expect(repository.isReady())
        _ = try await repository.model(named: "m", version: "2")
        #expect(events.all == ["loaded m 10", "loaded m 2"])
        let error = await #expect(throws: InferenceError.self) {
            _ = try await repository.model(named: "m", version: "3")
        }
        #expect(error?.message.contains("\"2\", \"10\"") == true, "\(error?.message ?? "")")
        await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "n") }
    }

    @Test("50 concurrent first requests for a lazy model share one load")
    func concurrentFirstRequestsShareOneLoad() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let engine = FakeEngine()
        let (repository, events) = try Bundles.repository(folder, engine: engine, policy: .lazy)
        await repository.loadEager()
        #expect(events.all == [])
        #expect(repository.isReady(), "a lazy model does not keep the daemon from being ready")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try? await repository.model(named: "m") } }
        }
        #expect(events.all == ["loaded m 1"])
        #expect(engine.state.withLock { $0.loads } == 1)
    }

    @Test("a removed model is unloaded and an added model is loaded after the next discovery")
    func modelsThatAreGoneAreDroppedAndNewOnesFound() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["a/model.json": Bundles.manifest(), "a/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("a"))
        try folder.write(["b/model.json": Bundles.manifest(), "b/m.onnx": ""])
        try repository.discover()
        await repository.loadEager()
        #expect(repository.names == ["b"])
        #expect(events.all == ["loaded a 1", "unloaded a 1", "loaded b 1"])
    }

    @Test("a bundle whose files change during the load is not loaded")
    func aBundleThatChangesWhileItIsLoadedIsNotLoaded() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let file = folder.url.appendingPathComponent("m/m.onnx")
        let engine = FakeEngine(onRead: { try? Data("more".utf8).write(to: file) })
        let (repository, _) = try Bundles.repository(folder, engine: engine)
        let error = await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "m") }
        #expect(error?.message.contains("being copied") == true, "\(error?.message ?? "")")
    }

    @Test("a log that grows next to a bare model file does not stop its load; a file that may have its weights does")
    func aLogNextToABareFileMayGrow() async throws {
        for (name, loads) in [("serve.log", true), ("answers", true), ("m.onnx_data", false)] {
            let folder = try TemporaryFolder()
            try folder.write(["m.onnx": "", name: ""])
            let file = folder.url.appendingPathComponent(name)
            let engine = FakeEngine(onRead: { try? Data("more".utf8).write(to: file) })
            let (repository, _) = try Bundles.repository(folder, engine: engine)
            let model = try? await repository.model(named: "m")
            #expect((model != nil) == loads, "\(name)")
        }
    }

    /// A model.json in the wrong place would make the whole folder one bundle: the served models stay, and the reload
    /// states the reason.
    @Test("a model.json put directly into a models folder is refused while the folder holds models")
    func aFolderOfModelsDoesNotBecomeABundle() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["a/model.json": Bundles.manifest(), "a/m.onnx": "", "b.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        try folder.write(["model.json": Bundles.manifest(), "m.onnx": ""])
        let error = #expect(throws: RepositoryError.self) { try repository.discover() }
        #expect(error?.message.contains("its own folder") == true, "\(error?.message ?? "")")
        #expect(repository.names == ["a", "b"] && !events.all.contains { $0.hasPrefix("unloaded") })
        // At a start no model is served yet: the folder is refused because it contains bundles.
        let (configuration, root) = (ModelConfiguration(), folder.url.path)
        let fresh = ModelRepository(folders: [root], configuration: configuration)
        #expect(throws: RepositoryError.self) { try fresh.discover() }
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("a"))
        #expect(throws: RepositoryError.self, "b.onnx is served and still there") { try repository.discover() }
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("b.onnx"))
        try repository.discover()
        #expect(repository.names.count == 1)
    }
}

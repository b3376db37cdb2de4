import FlowControl
import Foundation
import Inference
internal import Repository
import Synchronization
import Testing

/// The models that a reload loads, keeps and reports.
@Suite(.timeLimit(.minutes(2))) struct ReloadTests {
    @Test("a failed reload leaves the old model serving and shows the reason")
    func aFailedReloadLeavesTheOldModelServing() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        let old = try await repository.model(named: "m")
        try folder.write(["m/model.json": "{ not JSON"])
        #expect(repository.records.first?.staleReason == nil)
        await #expect(throws: InferenceError.self) { try await repository.reload("m") }
        #expect(try await repository.model(named: "m") === old)
        #expect(repository.isReady())
        #expect(repository.records.first?.staleReason?.contains("not valid JSON") == true)
        try folder.write(["m/model.json": Bundles.manifest(version: "2")])
        try await repository.reload("m")
        #expect(try await repository.model(named: "m") !== old)
        #expect(repository.records.first?.staleReason == nil)
        #expect(repository.records.map(\.version) == ["2"])
        #expect(events.all == ["loaded m 1", "failed m 1", "loaded m 2"])
    }

    @Test("a reload loads the models whose files or configuration changed and leaves the others")
    func aReloadLoadsWhatHasChangedAndLeavesTheRest() async throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "a/model.json": Bundles.manifest(), "a/m.onnx": "", "b/model.json": Bundles.manifest(), "b/m.onnx": "",
            "bare.onnx": "", "bare.onnx_data": "1", "bare.log": "1",
        ])
        let engine = FakeEngine()
        let (repository, events) = try Bundles.repository(folder, engine: engine)
        await repository.loadEager()
        let before = try await repository.model(named: "a")
        func reload() async -> [String] {
            events.list.withLock { $0 = [] }
            await repository.reloadAll()
            return events.all.sorted { $0.split(separator: " ")[1] < $1.split(separator: " ")[1] }
        }
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "unchanged bare 1"])
        #expect(try await repository.model(named: "a") === before)
        // Another file with equal bytes and modification time.
        let file = folder.url.appendingPathComponent("a/m.onnx")
        let times = try FileManager.default.attributesOfItem(atPath: file.path)
        try Data().write(to: file, options: .atomic)
        try FileManager.default.setAttributes(
            [.modificationDate: try #require(times[.modificationDate])], ofItemAtPath: file.path)
        #expect(await reload() == ["loaded a 1", "unchanged b 1", "unchanged bare 1"])
        // Next to a bare model, only its weights belong to it.
        try folder.write(["bare.log": "22"])
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "unchanged bare 1"])
        try folder.write(["bare.onnx_data": "22"])
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "loaded bare 1"])
        try folder.write(["b/labels.txt": "one"])
        #expect(await reload() == ["unchanged a 1", "loaded b 1", "unchanged bare 1"])
        // An incomplete copy has a hidden name (rsync's) until it is complete.
        try folder.write(["b/.m.onnx.Ab3dE9": "1"])
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "unchanged bare 1"])
        let copy = folder.url.appendingPathComponent("b/.m.onnx.Ab3dE9").path
        #expect(rename(copy, file.path.replacing("/a/", with: "/b/")) == 0)
        #expect(await reload() == ["unchanged a 1", "loaded b 1", "unchanged bare 1"])
        // A model that failed is tried each time, and so is one with restored files.
        try folder.write(["b/model.json": "{"])
        #expect(await reload() == ["unchanged a 1", "failed b 1", "unchanged bare 1"])
        #expect(await reload() == ["unchanged a 1", "failed b 1", "unchanged bare 1"])
        try folder.write(["b/model.json": Bundles.manifest()])
        #expect(await reload() == ["unchanged a 1", "loaded b 1", "unchanged bare 1"])
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "unchanged bare 1"])
        // A changed configuration requires a new load.
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.queueCapacity = 3
        try repository.reconfigure(folders: [folder.url.path], configuration: configuration, defaultPolicy: .eager)
        #expect(await reload() == ["loaded a 1", "loaded b 1", "loaded bare 1"])
    }

    @Test("a reload covers every loaded version, not only the highest")
    func everyLoadedVersionIsReloaded() async throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "m/1/model.json": Bundles.manifest(version: "7"), "m/1/m.onnx": "",
            "m/2/model.json": Bundles.manifest(version: "7"), "m/2/m.onnx": "",
        ])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        let old = try await repository.model(named: "m", version: "1")
        // The folder's number is the version, regardless of the bundle.
        #expect(old.description.version == "1")
        #expect(try await repository.model(named: "m").description.version == "2")
        try folder.write(["m/1/m.onnx": "changed"])
        await repository.reloadAll()
        #expect(events.all == ["loaded m 2", "loaded m 1", "unchanged m 2", "loaded m 1"])
        #expect(try await repository.model(named: "m", version: "1") !== old)
    }

    @Test("a load on request tries the highest version, also after an earlier failure")
    func loadingByRequestTriesTheHighestVersion() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/1/m.onnx": ""])
        let (repository, _) = try Bundles.repository(folder)
        await repository.loadEager()
        try folder.write(["m/2/model.json": "{"])
        try repository.discover()
        await #expect(throws: InferenceError.self) { try await repository.reload("m") }
        #expect(try await repository.model(named: "m").description.version == "1")
        // It is repaired: the next load loads it, not the older one that answers meanwhile.
        try folder.write(["m/2/model.json": Bundles.manifest(), "m/2/m.onnx": ""])
        try await repository.reload("m")
        #expect(try await repository.model(named: "m").description.version == "2")
    }

    @Test("an older version serves where a new lazy version fails, until a reload after the repair")
    func anOlderVersionServesWhereANewLazyOneFails() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/1/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder, policy: .lazy)
        let old = try await repository.model(named: "m")
        try folder.write(["m/2/model.json": "{"])
        try repository.discover()
        for _ in 0..<3 { #expect(try await repository.model(named: "m") === old) }
        #expect(events.all == ["loaded m 1", "failed m 2"], "it is not tried for each request")
        // A reload tries it again.
        try folder.write(["m/2/model.json": Bundles.manifest(), "m/2/m.onnx": ""])
        try repository.discover()
        await repository.reloadAll()
        #expect(try await repository.model(named: "m").description.version == "2")
    }

    /// Many requests for a broken model must not keep the processors busy with loads.
    @Test(
        "requests after a failed load get the reason without a new load, which only a load on request begins",
        arguments: [LoadPolicy.eager, .lazy])
    func requestsDoNotBeginTheSameFailingLoadAgainAndAgain(_ policy: LoadPolicy) async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": "{"])
        let (repository, events) = try Bundles.repository(folder, policy: policy)
        var messages: Set<String> = []
        for _ in 0..<20 {
            let error = await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "m") }
            messages.insert(error?.message ?? "")
        }
        #expect(events.all == ["failed m 1"])
        #expect(messages.count == 1 && messages.first?.contains("not valid JSON") == true, "\(messages)")
        // A load on request begins a load.
        await #expect(throws: InferenceError.self) { try await repository.reload("m") }
        #expect(events.all == ["failed m 1", "failed m 1"])
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        try await repository.reload("m")
        _ = try await repository.model(named: "m")
    }

    /// The load policy of a bundle is not an option of the engine, and must be applied nevertheless.
    @Test(
        "a changed load policy in model.json takes effect in a reload and in a watched folder",
        arguments: [false, true])
    func theLoadPolicyOfABundleIsReadAgain(byWatching: Bool) async throws {
        let folder = try TemporaryFolder()
        func write(_ runtime: String) throws {
            try folder.write(["m/model.json": Bundles.manifest(runtime: runtime), "m/m.onnx": ""])
        }
        try write(#"{ "load": "lazy" }"#)
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        #expect(events.all == [])
        let watcher = try RepositoryWatcher(repository)
        func reload() async throws {
            if byWatching {
                for _ in 0..<2 where try watcher.scan() { try await watcher.applyChanges() }
            } else {
                try repository.discover()
                await repository.reloadAll()
            }
        }
        try write(#"{ "load": "eager" }"#)
        try await reload()
        #expect(events.all == ["loaded m 1"])
        #expect(repository.records.first?.policy == .eager)
        try await Task.sleep(for: .milliseconds(2))
        repository.unloadIdle()
        #expect(repository.records.first?.state == .ready, "an eager model is kept")
        try write(#"{ "load": "lazy", "idle_unload_seconds": 31536000 }"#)
        try await reload()
        repository.unloadIdle()
        #expect(repository.records.first?.state == .ready, "its time has not come")
        #expect(repository.records.first?.policy == .lazy)
        // A damaged bundle keeps its policy, and a model in use keeps running.
        try folder.write(["m/model.json": "{"])
        try await reload()
        #expect(repository.records.first?.policy == .lazy)
        #expect(events.all == ["loaded m 1", "loaded m 1", "failed m 1"])
    }

    /// The other runtime options in model.json: a reload applies all of them.
    @Test("every key of runtime in model.json takes effect in a reload")
    func everyKeyOfRuntimeTakesEffectInAReload() async throws {
        let folder = try TemporaryFolder()
        let engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: [-1, 4])],
            outputs: [TensorPort(name: "y", elementType: .float32, shape: [-1, 4])], threads: 4)
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let (repository, _) = try Bundles.repository(folder, engine: engine)
        await repository.loadEager()
        typealias Effect = @Sendable (Model, FakeEngine.State) -> Bool
        let effects: [(runtime: String, effect: Effect)] = [
            (#""device": "GPU""#, { $1.options.last?.device == "GPU" }),
            (#""hint": "latency""#, { $1.options.last?.hint == .latency }),
            (#""precision": "bf16""#, { $1.options.last?.precision == .bfloat16 }),
            (#""integer_weights": false"#, { $1.sources.last?.allowsIntegerWeights == false }),
            (#""instances": 5"#, { model, _ in model.instances == 5 }),
            (#""max_in_flight": 9"#, { model, _ in model.limiter.snapshot.limit == 9 }),
            (#""lone_threads": 3"#, { model, _ in model.singleStreamReport?.threads == 3 }),
            (#""warmup": { "runs": 7 }"#, { $1.items == Array(repeating: 1, count: 14) }),
            (#""batch": 3"#, { model, _ in model.batchLimit == 3 }),
        ]
        for (runtime, effect) in effects {
            let before = try await repository.model(named: "m")
            #expect(!effect(before, engine.state.withLock { $0 }), "\(runtime)")
            engine.state.withLock { $0.items = [] }
            try folder.write(["m/model.json": Bundles.manifest(runtime: "{ \(runtime) }")])
            await repository.reloadAll()
            #expect(effect(try await repository.model(named: "m"), engine.state.withLock { $0 }), "\(runtime)")
        }
    }

    /// 8-bit weights are rewritten on the device CPU only, and for all parts of a model or none: the batch variant
    /// reads the file a second time.
    @Test("both readings of a model with batches agree on integer weights, which are used on the CPU only")
    func allReadingsOfAModelAgreeOnIntegerWeights() async throws {
        for (runtime, allowed) in [
            (#""batch": 3"#, true), (#""batch": 3, "integer_weights": false"#, false),
            (#""batch": 3, "device": "GPU""#, false),
        ] {
            let folder = try TemporaryFolder()
            let engine = FakeEngine(
                inputs: [TensorPort(name: "x", elementType: .float32, shape: [-1, 4])],
                outputs: [TensorPort(name: "y", elementType: .float32, shape: [-1, 4])])
            try folder.write(["m/model.json": Bundles.manifest(runtime: "{ \(runtime) }"), "m/m.onnx": ""])
            let (repository, _) = try Bundles.repository(folder, engine: engine)
            await repository.loadEager()
            let sources = engine.state.withLock { $0.sources }
            #expect(sources.count == 2 && sources.allSatisfy { $0.allowsIntegerWeights == allowed }, "\(runtime)")
        }
    }

    /// If a reload read the folders twice and the second reading failed, half of the settings would have been applied:
    /// they are read once.
    @Test("a reload reads the folders once, and changes no settings where a folder cannot be read")
    func aReloadReadsTheFoldersOnce() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["a/model.json": Bundles.manifest(), "a/m.onnx": ""])
        let looks = Mutex(0)
        let root = folder.url.path
        let reader = FolderReader { (path) throws(FileFailure) in
            if path == root {
                let count = looks.withLock { looks in
                    looks += 1
                    return looks
                }
                if count > 2 { throw FileFailure(code: EIO) }
            }
            return try FolderReader.disk.names(path)
        } kind: { (path) throws(FileFailure) in
            try FolderReader.disk.kind(path)
        }
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        let repository = ModelRepository(folders: [root], configuration: configuration, reader: reader)
        try repository.discover()
        try folder.write(["b/model.json": Bundles.manifest(), "b/m.onnx": ""])
        try repository.reconfigure(folders: [root], configuration: configuration, defaultPolicy: .lazy)
        #expect(repository.names == ["a", "b"])
        #expect(throws: RepositoryError.self) {
            try repository.reconfigure(folders: [root], configuration: configuration, defaultPolicy: .eager)
        }
        #expect(repository.names == ["a", "b"] && repository.records.allSatisfy { $0.policy == .lazy })
    }
}

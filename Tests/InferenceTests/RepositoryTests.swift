import FlowControl
import Foundation
import Inference
import Synchronization
import TestSupport
import Testing

/// Finding, loading, swapping and letting go of models, over an engine that the test controls.
@Suite(.timeLimit(.minutes(2))) struct RepositoryTests {
    @Test func everyKindOfEntryIsFound() throws {
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

    @Test func aSavedModelNeedsNoModelJSON() async throws {
        let folder = try TemporaryFolder()
        // As TensorFlow Serving has them, and alone.
        try folder.write(["a/1/saved_model.pb": "", "a/2/saved_model.pb": "", "b/saved_model.pb": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        #expect(events.all == ["loaded a 2", "loaded b 1"])
        #expect(try await repository.model(named: "b").description.backend == "tensorflow")
        #expect(repository.leftOut == [])
        #expect(ModelRepository.entries(of: folder.url.path).map { $0.suffix(2) } == ["/1", "/2", "/b"])
        let itself = ModelRepository(folders: [folder.url.path + "/b"], configuration: ModelConfiguration())
        try itself.discover()
        #expect(itself.names == ["b"])
        #expect(ModelRepository.entries(of: folder.url.path + "/b") == [])
    }

    @Test func entriesThatAreNotModelsAreReported() throws {
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
        #expect(reported.first { $0.hasPrefix("m.onnx ") }?.contains("/m has its name") == true, "\(reported)")
        #expect(reported.contains { $0.hasPrefix("net.pt (PyTorch: export ") && $0.contains("torch.onnx.export") })
        #expect(reported.contains { $0.hasPrefix("face (") && $0.contains("model.safetensors is not read here") })
    }

    /// No path of a request can hold these names.
    @Test func modelsThatNoRequestCanNameAreReported() throws {
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

    /// `ocelli init` has a bare file moved into its own folder: the name goes on being served, and the log says from where.
    @Test func aModelThatMovesIsNotReportedAsLost() async throws {
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
                "\(path)/a.onnx is gone; \(path)/a is served in its place", "\(path)/b.onnx is gone",
            ])
    }

    @Test func everyFolderThatCannotBeReadIsNamed() throws {
        let repository = ModelRepository(
            folders: ["/nonexistent/a", "/nonexistent/b"], configuration: ModelConfiguration())
        let error = #expect(throws: RepositoryError.self) { try repository.discover() }
        #expect(error?.message.contains("/nonexistent/a") == true && error?.message.contains("/nonexistent/b") == true)
    }

    @Test func theHighestVersionIsServedUnlessAnotherIsAskedFor() async throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "m/2/model.json": Bundles.manifest(), "m/2/m.onnx": "", "m/10/model.json": Bundles.manifest(),
            "m/10/m.onnx": "",
            // Not versions: their names are not numbers.
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

    @Test func concurrentFirstRequestsShareOneLoad() async throws {
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

    @Test func aFailedReloadLeavesTheOldModelServing() async throws {
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

    @Test func aReloadLoadsWhatHasChangedAndLeavesTheRest() async throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "a/model.json": Bundles.manifest(), "a/m.onnx": "", "b/model.json": Bundles.manifest(), "b/m.onnx": "",
            "bare.onnx": "", "bare.weights": "1",
        ])
        let engine = FakeEngine()
        let (repository, events) = try Bundles.repository(folder, engine: engine)
        await repository.loadEager()
        let before = try await repository.model(named: "a")
        func reload() async -> [String] {
            events.list.withLock { $0 = [] }
            await repository.reloadAll()
            return events.all
        }
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "unchanged bare 1"])
        #expect(try await repository.model(named: "a") === before)
        // The same bytes, and the same time of modification: yet it is another file.
        let file = folder.url.appendingPathComponent("a/m.onnx")
        let times = try FileManager.default.attributesOfItem(atPath: file.path)
        try Data().write(to: file, options: .atomic)
        try FileManager.default.setAttributes(
            [.modificationDate: try #require(times[.modificationDate])], ofItemAtPath: file.path)
        #expect(await reload() == ["loaded a 1", "unchanged b 1", "unchanged bare 1"])
        // Files beside a bare model may be its weights.
        try folder.write(["bare.weights": "22"])
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "loaded bare 1"])
        try folder.write(["b/labels.txt": "one"])
        #expect(await reload() == ["unchanged a 1", "loaded b 1", "unchanged bare 1"])
        // A copy that is under way has a hidden name (rsync's), until it is whole.
        try folder.write(["b/.m.onnx.Ab3dE9": "1"])
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "unchanged bare 1"])
        let copy = folder.url.appendingPathComponent("b/.m.onnx.Ab3dE9").path
        #expect(rename(copy, file.path.replacing("/a/", with: "/b/")) == 0)
        #expect(await reload() == ["unchanged a 1", "loaded b 1", "unchanged bare 1"])
        // What could not be loaded is tried each time, and so is what goes back to where it was.
        try folder.write(["b/model.json": "{"])
        #expect(await reload() == ["unchanged a 1", "failed b 1", "unchanged bare 1"])
        #expect(await reload() == ["unchanged a 1", "failed b 1", "unchanged bare 1"])
        try folder.write(["b/model.json": Bundles.manifest()])
        #expect(await reload() == ["unchanged a 1", "loaded b 1", "unchanged bare 1"])
        #expect(await reload() == ["unchanged a 1", "unchanged b 1", "unchanged bare 1"])
        // Another configuration is another model.
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.queueCapacity = 3
        try repository.reconfigure(folders: [folder.url.path], configuration: configuration, defaultPolicy: .eager)
        #expect(await reload() == ["loaded a 1", "loaded b 1", "loaded bare 1"])
    }

    @Test func everyLoadedVersionIsReloaded() async throws {
        let folder = try TemporaryFolder()
        try folder.write([
            "m/1/model.json": Bundles.manifest(version: "7"), "m/1/m.onnx": "",
            "m/2/model.json": Bundles.manifest(version: "7"), "m/2/m.onnx": "",
        ])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        let old = try await repository.model(named: "m", version: "1")
        // The folder's number is the version, whatever the bundle says.
        #expect(old.description.version == "1")
        #expect(try await repository.model(named: "m").description.version == "2")
        try folder.write(["m/1/m.onnx": "changed"])
        await repository.reloadAll()
        #expect(events.all == ["loaded m 2", "loaded m 1", "loaded m 1", "unchanged m 2"])
        #expect(try await repository.model(named: "m", version: "1") !== old)
    }

    @Test func aWatchedFolderIsTakenInWhenItIsWholeAndAtRest() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["a/model.json": Bundles.manifest(), "a/m.onnx": "1"])
        let (repository, events) = try Bundles.repository(folder)
        let watcher = try RepositoryWatcher(repository)
        await repository.loadEager()
        func look() async throws -> [String] {
            events.list.withLock { $0 = [] }
            if try watcher.look() { try await watcher.takeIn() }
            return events.all
        }
        #expect(try await look() == [])
        // A bundle that comes file by file, and byte by byte.
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
        // Another that is whole does not wait for it, nor takes it along.
        try folder.write(["c/model.json": Bundles.manifest(), "c/m.onnx": ""])
        try folder.write(["b/m.onnx": "1234"])
        #expect(try await look() == [])
        try folder.write(["b/m.onnx": "12345"])
        #expect(try await look() == ["loaded c 1"])
        #expect(repository.names == ["a", "c"])
        #expect(try await look() == ["loaded b 1"])
        #expect(try await look() == [])
        // A changed one is loaded beside the old one, when it is at rest.
        let old = try await repository.model(named: "a")
        try folder.write(["a/model.json": Bundles.manifest(version: "2")])
        #expect(try await look() == [])
        #expect(try await repository.model(named: "a") === old)
        #expect(try await look() == ["loaded a 2"])
        // One that is spoiled leaves the old one serving, and is tried again when it changes.
        try folder.write(["a/model.json": "{"])
        #expect(try await look() == [])
        #expect(try await look() == ["failed a 2"])
        #expect(try await look() == [])
        #expect(try await repository.model(named: "a").description.version == "2")
        try folder.write(["a/model.json": Bundles.manifest(version: "3")])
        #expect(try await look() == [])
        #expect(try await look() == ["loaded a 3"])
        // One that goes away for a moment only stays.
        let path = folder.url.appendingPathComponent("c").path, away = folder.url.appendingPathComponent("_c").path
        try FileManager.default.moveItem(atPath: path, toPath: away)
        #expect(try await look() == [])
        try FileManager.default.moveItem(atPath: away, toPath: path)
        #expect(try await look() == [])
        try FileManager.default.removeItem(atPath: path)
        #expect(try await look() == [])
        #expect(try await look() == ["unloaded c 1"])
        #expect(repository.names == ["a", "b"])
        // What was unloaded on request stays so.
        try repository.unload("b")
        try folder.write(["b/m.onnx": "123"])
        #expect(try await look() == [])
        #expect(try await look() == [])
        #expect(repository.records.last?.state == .unloaded)
    }

    @Test func aWatchedFolderThatIsAwayForAMomentLosesNothing() async throws {
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
        for _ in 0..<3 { #expect(throws: RepositoryError.self) { try watcher.look() } }
        #expect(try repository.readyModel(named: "a") != nil)
        try FileManager.default.moveItem(atPath: away, toPath: models)
        #expect(try !watcher.look())
    }

    @Test func anUnloadedModelComesBackOnlyWhenItIsLoaded() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        try repository.unload("m")
        #expect(repository.records.first?.state == .unloaded)
        let error = await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "m") }
        #expect(error?.message.contains("unloaded") == true)
        // Neither reloads nor looks at the folders bring it back, whatever becomes of its files.
        try folder.write(["m/model.json": Bundles.manifest(version: "2")])
        try repository.discover()
        await repository.reloadAll()
        #expect(events.all == ["loaded m 1", "unloaded m 1", "held back m 2"])
        #expect(repository.records.first?.state == .unloaded)
        #expect(repository.isReady(), "nobody waits for it")
        try await repository.reload("m")
        #expect(try await repository.model(named: "m").description.version == "2")
    }

    @Test func allVersionsOfAnUnloadedModelStayAwayAndComeBackTogether() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/1/m.onnx": "", "m/2/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        _ = try await repository.model(named: "m", version: "1")
        try repository.unload("m")
        // A version that comes meanwhile is one of the model that nobody wants now.
        try folder.write(["m/3/m.onnx": ""])
        try repository.discover()
        await repository.reloadAll()
        await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "m") }
        #expect(
            events.all == [
                "loaded m 2", "loaded m 1", "unloaded m 1", "unloaded m 2", "held back m 1", "held back m 2",
                "held back m 3",
            ])
        try await repository.reload("m")
        #expect(try await repository.model(named: "m").description.version == "3")
        #expect(try await repository.model(named: "m", version: "1").description.version == "1")
    }

    @Test func anOlderVersionServesWhereANewLazyOneFails() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/1/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder, policy: .lazy)
        let old = try await repository.model(named: "m")
        try folder.write(["m/2/model.json": "{"])
        try repository.discover()
        await #expect(throws: InferenceError.self, "it is asked for, and cannot be loaded") {
            _ = try await repository.model(named: "m")
        }
        for _ in 0..<3 { #expect(try await repository.model(named: "m") === old) }
        #expect(events.all == ["loaded m 1", "failed m 2"], "it is not tried for each request")
        // A reload has it tried again.
        try folder.write(["m/2/model.json": Bundles.manifest(), "m/2/m.onnx": ""])
        try repository.discover()
        await repository.reloadAll()
        #expect(try await repository.model(named: "m").description.version == "2")
    }

    /// A broken model that many ask for must not keep the processors busy with loads.
    @Test(arguments: [LoadPolicy.eager, .lazy])
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
        // Who asks for the load itself gets one.
        await #expect(throws: InferenceError.self) { try await repository.reload("m") }
        #expect(events.all == ["failed m 1", "failed m 1"])
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        try await repository.reload("m")
        _ = try await repository.model(named: "m")
    }

    @Test func loadingByRequestTriesTheHighestVersion() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/1/m.onnx": ""])
        let (repository, _) = try Bundles.repository(folder)
        await repository.loadEager()
        try folder.write(["m/2/model.json": "{"])
        try repository.discover()
        await #expect(throws: InferenceError.self) { try await repository.reload("m") }
        #expect(try await repository.model(named: "m").description.version == "1")
        // It is repaired: the next load is of it, not of the older one that answers meanwhile.
        try folder.write(["m/2/model.json": Bundles.manifest(), "m/2/m.onnx": ""])
        try await repository.reload("m")
        #expect(try await repository.model(named: "m").description.version == "2")
    }

    /// When a bundle wants to be loaded is not an option of the engine, and must not be forgotten for that.
    @Test(arguments: [false, true]) func theLoadPolicyOfABundleIsReadAgain(byWatching: Bool) async throws {
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
                for _ in 0..<2 where try watcher.look() { try await watcher.takeIn() }
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
        // A damaged one keeps what it said; and a model that somebody uses goes on.
        try folder.write(["m/model.json": "{"])
        try await reload()
        #expect(repository.records.first?.policy == .lazy)
        #expect(events.all == ["loaded m 1", "loaded m 1", "failed m 1"])
    }

    /// What else model.json says of running: all of it is taken in by a reload.
    @Test func everyKeyOfRuntimeTakesEffectInAReload() async throws {
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
            (#""lone_threads": 3"#, { model, _ in model.loneReport?.threads == 3 }),
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

    /// 8-bit weights are rewritten on the device CPU alone, and in no part of a model or in all: the batch is a second reading.
    @Test func allReadingsOfAModelAgreeOnIntegerWeights() async throws {
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

    @Test func anIdleLazyModelIsUnloaded() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder, policy: .lazy, idle: .nanoseconds(1))
        _ = try await repository.model(named: "m")
        try await Task.sleep(for: .milliseconds(2))
        repository.unloadIdle()
        #expect(events.all == ["loaded m 1", "unloaded m 1"])
        _ = try await repository.model(named: "m")
        #expect(events.all.count == 3, "it comes back by itself")
    }

    @Test func anEagerModelIsKept() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder, idle: .nanoseconds(1))
        await repository.loadEager()
        try await Task.sleep(for: .milliseconds(2))
        repository.unloadIdle()
        #expect(events.all == ["loaded m 1"])
        #expect(repository.records.first?.state == .ready)
    }

    @Test func modelsThatAreGoneAreDroppedAndNewOnesFound() async throws {
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

    @Test func aFolderThatCannotBeReadIsNamed() throws {
        let repository = ModelRepository(folders: ["/nonexistent/models"], configuration: ModelConfiguration())
        let error = #expect(throws: RepositoryError.self) { try repository.discover() }
        #expect(error?.message.contains("/nonexistent/models") == true)
    }

    @Test func aBundleThatChangesWhileItIsLoadedIsNotLoaded() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let file = folder.url.appendingPathComponent("m/m.onnx")
        let engine = FakeEngine(onRead: { try? Data("more".utf8).write(to: file) })
        let (repository, _) = try Bundles.repository(folder, engine: engine)
        let error = await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "m") }
        #expect(error?.message.contains("being copied") == true, "\(error?.message ?? "")")
    }

    @Test func theCacheIsPrunedOldestFirst() throws {
        let folder = try TemporaryFolder()
        for (index, name) in ["a.blob", "b.blob", "c.blob", "keep.txt"].enumerated() {
            let file = folder.url.appendingPathComponent(name)
            try Data(count: 1000).write(to: file)
            let times = [
                timeval(tv_sec: 1_000_000 + index, tv_usec: 0), timeval(tv_sec: 1_000_000 + index, tv_usec: 0),
            ]
            #expect(utimes(file.path, times) == 0)
        }
        let pruned = CompiledModelCache.prune(folder.url.path, to: 1500)
        #expect(pruned.files == 2)
        #expect(pruned.bytes == 2000)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["c.blob", "keep.txt"])
        #expect(CompiledModelCache.prune("/nonexistent", to: 0).files == 0)
    }

    /// A reload whose folders cannot be read a second time must not have taken half of the settings: they are read once.
    @Test func aReloadReadsTheFoldersOnce() async throws {
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

    /// A model.json in the wrong place makes one bundle of the folder: what is served from it stays, and the reload says why.
    @Test func aFolderOfModelsDoesNotBecomeABundle() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["a/model.json": Bundles.manifest(), "a/m.onnx": "", "b.onnx": ""])
        let (repository, events) = try Bundles.repository(folder)
        await repository.loadEager()
        try folder.write(["model.json": Bundles.manifest(), "m.onnx": ""])
        let error = #expect(throws: RepositoryError.self) { try repository.discover() }
        #expect(error?.message.contains("its own folder") == true, "\(error?.message ?? "")")
        #expect(repository.names == ["a", "b"] && !events.all.contains { $0.hasPrefix("unloaded") })
        // At a start there is nothing to keep: with bundles in it the folder is refused too.
        let (configuration, root) = (ModelConfiguration(), folder.url.path)
        let fresh = ModelRepository(folders: [root], configuration: configuration)
        #expect(throws: RepositoryError.self) { try fresh.discover() }
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("a"))
        #expect(throws: RepositoryError.self, "b.onnx is served and still there") { try repository.discover() }
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("b.onnx"))
        try repository.discover()
        #expect(repository.names.count == 1)
    }

    /// A model that is added does not change what a route without a name means; one that goes does, and that is reported.
    @Test func theDefaultStays() async throws {
        let folder = try TemporaryFolder()
        let classifier = """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "x", "type": "image", "shape": [2, 2, 1], "format": "GRAY" } ],
              "outputs": [ { "name": "y", "type": "array", "shape": [1, 4], "labels": "labels.txt" } ],
              "runtime": { "load": "lazy" } }
            """
        let labels = "a\nb\nc\nd\n"
        try folder.write(["m/model.json": classifier, "m/m.onnx": "", "m/labels.txt": labels])
        let (repository, _) = try Bundles.repository(folder)
        #expect(repository.defaultClassifier == "m" && repository.settleDefault() == nil)
        try folder.write(["a/model.json": classifier, "a/m.onnx": "", "a/labels.txt": labels])
        try repository.discover()
        #expect(repository.defaultClassifier == "m" && repository.settleDefault() == nil)
        try FileManager.default.removeItem(at: folder.url.appendingPathComponent("m"))
        try repository.discover()
        let change = repository.settleDefault()
        #expect(change?.before == "m" && change?.now == "a")
        #expect(repository.settleDefault() == nil)
    }

    /// A lack of threads, say, passes: another model would answer with other labels meanwhile, without a word.
    @Test func theDefaultStaysWhereItCannotBeLoadedForAWhile() async throws {
        let folder = try TemporaryFolder()
        func write(_ name: String, load: String) throws {
            let classifier = """
                { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
                  "inputs": [ { "name": "x", "type": "image", "shape": [2, 2, 1], "format": "GRAY" } ],
                  "outputs": [ { "name": "y", "type": "array", "shape": [1, 4], "labels": "labels.txt" } ],
                  "runtime": { "load": "\(load)" } }
                """
            try folder.write([
                "\(name)/model.json": classifier, "\(name)/m.onnx": "", "\(name)/labels.txt": "a\nb\nc\nd\n",
            ])
        }
        try write("a", load: "lazy")
        try write("b", load: "eager")
        let engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: [1, 2, 2, 1])], mostModels: 2)
        let (repository, _) = try Bundles.repository(folder, engine: engine, idle: .nanoseconds(1))
        await repository.loadEager()
        _ = try await repository.model(named: "a")
        #expect(repository.settleDefault() == nil && repository.defaultClassifier == "a")
        repository.unloadIdle()
        #expect(repository.defaultClassifier == "a")
        // Its threads are another model's now.
        try write("c", load: "eager")
        try repository.discover()
        await repository.loadEager()
        await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "a") }
        #expect(repository.defaultClassifier == "a" && repository.settleDefault() == nil)
        // Who unloads it means it.
        try repository.unload("a")
        #expect(repository.defaultClassifier == "b")
    }
}

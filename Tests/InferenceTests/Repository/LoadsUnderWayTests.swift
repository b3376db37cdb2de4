import FlowControl
import Foundation
import Inference
internal import Repository
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Requests to a repository while it loads or releases a model.
@Suite(.timeLimit(.minutes(2))) struct LoadsUnderWayTests {
    /// Blocks loads until the test lets them continue, one at a time.
    private final class Gate: Sendable {
        private let reads = AsyncStream.makeStream(of: Void.self)
        private let open = DispatchSemaphore(value: 0)

        /// Call it when a model file is read: blocks until ``pass()``.
        func wait() {
            reads.continuation.yield()
            open.wait()
        }
        func pass() { open.signal() }
        /// Returns when a load has reached the gate.
        func arrival() async { for await _ in reads.stream { return } }
    }

    @Test("a model that is unloaded and loaded again while its load runs ends up ready", .timeLimit(.minutes(1)))
    func aModelThatIsLoadedAgainAfterItWasUnloadedWhileLoadingIsReady() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let gate = Gate()
        let (repository, _) = try Bundles.repository(folder, engine: FakeEngine(onRead: gate.wait))
        async let first: Void = repository.reload("m")
        await gate.arrival()
        try repository.unload("m")
        // A request does not reload a model that was unloaded on request, not even while it is still loading.
        await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "m") }
        async let second: Void = repository.reload("m")
        // The second load joins the first, or comes after it: both must succeed.
        try await Task.sleep(for: .milliseconds(50))
        gate.pass()
        gate.pass()
        try await first
        try await second
        #expect(repository.records.first?.state == .ready)
        _ = try await repository.model(named: "m")
    }

    @Test("a model that is unloaded while loading is not kept when the load ends", .timeLimit(.minutes(1)))
    func aModelThatIsUnloadedWhileLoadingIsNotKept() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let gate = Gate()
        let (repository, events) = try Bundles.repository(folder, engine: FakeEngine(onRead: gate.wait))
        async let load: Void = repository.reload("m")
        await gate.arrival()
        try repository.unload("m")
        gate.pass()
        try await load
        #expect(repository.records.first?.state == .unloaded)
        #expect(events.all == ["loaded m 1", "unloaded m 1"], "the log and the metrics tell what has become of it")
    }

    /// A reload that joins a load must not treat the load's older settings and files as new.
    @Test("a reload during a load ends with a model of the new configuration", .timeLimit(.minutes(1)))
    func aReloadDuringALoadTakesTheNewConfiguration() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let gate = Gate()
        let engine = FakeEngine(onRead: gate.wait)
        let (repository, _) = try Bundles.repository(folder, engine: engine)
        async let load: Void = repository.loadEager()
        await gate.arrival()
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.queueCapacity = 3
        try repository.reconfigure(folders: [folder.url.path], configuration: configuration, defaultPolicy: .eager)
        async let reload: Void = repository.reloadAll()
        gate.pass()
        gate.pass()
        await load
        await reload
        #expect(try await repository.model(named: "m").limiter.snapshot.queueCapacity == 3)
    }

    /// A request that waits for a load stops at its deadline, or when its client disconnects; the load continues and is
    /// reported.
    @Test(
        "a request stops waiting for a load at its deadline or cancellation, and the load goes on",
        .timeLimit(.minutes(1)))
    func aLoadIsNotWaitedForLongerThanTheDeadline() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let gate = Gate()
        let (repository, events) = try Bundles.repository(folder, engine: FakeEngine(onRead: gate.wait), policy: .lazy)
        let late = await #expect(throws: InferenceError.self) {
            _ = try await repository.model(named: "m", deadline: .now + .milliseconds(20))
        }
        guard case .deadlineExceeded(.load)? = late else {
            Issue.record("\(late?.message ?? "")")
            return gate.pass()
        }
        let waiting = Task { try await repository.model(named: "m") }
        waiting.cancel()
        await #expect(throws: InferenceError.self) { _ = try await waiting.value }
        #expect(repository.records.first?.state == .loading)
        gate.pass()
        _ = try await repository.model(named: "m")
        // The load reports its end after it has handed over the model.
        #expect(eventually { events.all == ["loaded m 1"] })
    }

    /// An engine may need long to release a model. Meanwhile, requests for the next model must be answered.
    @Test("the repository answers while the engine releases a replaced or unloaded model")
    func aModelEndsWhileTheRepositoryAnswers() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let asked = Mutex<(repository: ModelRepository?, answers: [Bool])>((nil, []))
        let engine = FakeEngine(onFree: {
            guard let repository = asked.withLock({ $0.repository }) else { return }
            let answered = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                _ = repository.records
                answered.signal()
            }
            // Times out only if the repository does not answer.
            let isAnswered = answered.wait(timeout: .now() + .seconds(10)) == .success
            asked.withLock { $0.answers.append(isAnswered) }
        })
        let (repository, _) = try Bundles.repository(folder, engine: engine)
        asked.withLock { $0.repository = repository }
        try await repository.reload("m")
        try await repository.reload("m")
        try repository.unload("m")
        // Tasks that waited for the load may be the last to hold the model.
        #expect(eventually { asked.withLock { $0.answers } == [true, true] })
        asked.withLock { $0.repository = nil }
    }

    /// The first requests for sixteen lazy models: each load may take most of the memory.
    @Test(
        "first requests for 16 lazy models run no more loads at a time than the limit",
        .timeLimit(.minutes(1)), arguments: [1, 3])
    func noMoreLoadsRunThanMay(_ limit: Int) async throws {
        let folder = try TemporaryFolder()
        for index in 0..<16 {
            try folder.write(["m\(index)/model.json": Bundles.manifest(), "m\(index)/m.onnx": ""])
        }
        let reading = Mutex((now: 0, maximum: 0))
        let engine = FakeEngine(onRead: {
            reading.withLock { reading in
                reading.now += 1
                reading.maximum = max(reading.maximum, reading.now)
            }
            usleep(5_000)
            reading.withLock { $0.now -= 1 }
        })
        var configuration = ModelConfiguration()
        configuration.engine = engine
        let repository = ModelRepository(
            folders: [folder.url.path], configuration: configuration, defaultPolicy: .lazy, loadsAtOnce: limit)
        try repository.discover()
        await withTaskGroup(of: Bool.self) { group in
            for index in 0..<16 {
                group.addTask { (try? await repository.model(named: "m\(index)")) != nil }
            }
            for await isReady in group { #expect(isReady) }
        }
        let maximum = reading.withLock { $0.maximum }
        #expect(maximum <= limit && maximum >= 1, "\(maximum) at once")
    }

    /// Four models, the first of which hangs in its load check until the test releases it.
    private struct HangingModel {
        let folder: TemporaryFolder
        let events = RepositoryEvents()
        let hanging = DispatchSemaphore(value: 0)
        let repository: ModelRepository

        init(patience: Duration) throws {
            folder = try TemporaryFolder()
            for (name, size) in [("hangs", 1), ("b", 300), ("c", 20), ("d", 4_000)] {
                try folder.write(["\(name).onnx": String(repeating: "x", count: size)])
            }
            var configuration = ModelConfiguration()
            configuration.engine = FakeEngine()
            configuration.loadCheck = LoadCheck(remembering: nil, circumstances: UUID().uuidString) { [hanging] path in
                if path.hasSuffix("/hangs.onnx") { hanging.wait() }
                return .good(compiledAnew: true)
            }
            repository = ModelRepository(
                folders: [folder.url.path], configuration: configuration, patience: patience, reader: .disk,
                onEvent: events.add)
            try repository.discover()
        }

        func time(_ name: String) -> Duration? { repository.records.first { $0.name == name }?.loadingTime }
    }

    /// A model on a file system that does not answer, or one that takes a minute.
    @Test(
        "a model whose load hangs does not hold up the others, which are loaded smallest first",
        .timeLimit(.minutes(1)))
    func aModelThatHangsDoesNotHoldUpTheOthers() async throws {
        let scene = try HangingModel(patience: .milliseconds(50))
        async let load: Void = scene.repository.loadEager()
        #expect(eventually { scene.events.all.count == 3 })
        #expect(scene.events.all == ["loaded c 1", "loaded b 1", "loaded d 1"], "the smallest first")
        let missing = scene.repository.missing(for: .all)
        #expect(missing.map(\.name) == ["hangs"] && missing.first?.state == .loading)
        #expect(missing.first?.loadingTime ?? .zero >= .milliseconds(50))
        #expect(scene.time("hangs") ?? .zero >= .milliseconds(50))
        scene.hanging.signal()
        await load
        #expect(scene.repository.isReady() && scene.time("hangs") == nil)
    }

    /// An eager model counts as loading from the start, even while it is queued; the loading time begins with its turn.
    @Test(
        "eager models count as loading before their turn, and their loading time begins with the turn",
        .timeLimit(.minutes(1)))
    func eagerModelsAreLoadingBeforeTheirTurn() async throws {
        let scene = try HangingModel(patience: .seconds(600))
        async let load: Void = scene.repository.loadEager()
        #expect(eventually { scene.time("hangs") != nil })
        #expect(scene.repository.records.allSatisfy { $0.state == .loading })
        #expect(["b", "c", "d"].allSatisfy { scene.time($0) == nil })
        scene.hanging.signal()
        await load
        #expect(scene.repository.isReady())
    }

    /// The file system stops answering during the load: the load fails, so that a wait for all loads ends.
    @Test("a load that hangs for longer than the load limit has failed", .timeLimit(.minutes(1)))
    func aLoadThatHangsForTooLongHasFailed() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let gate = Gate()
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine(onRead: gate.wait)
        configuration.loadLimit = .milliseconds(200)
        let repository = ModelRepository(folders: [folder.url.path], configuration: configuration)
        try repository.discover()
        await repository.loadEager()
        guard case .failed(let reason)? = repository.records.first?.state else {
            Issue.record("\(repository.records)")
            return
        }
        #expect(reason.contains("was still being loaded after 0 s"), "\(reason)")
        gate.pass()
    }

    /// The engine does not end the first inference.
    @Test("a load whose warm-up hangs for longer than the load limit has failed", .timeLimit(.minutes(1)))
    func aLoadWhoseWarmUpHangsForTooLongHasFailed() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": ""]) + "/m.onnx"
        let engine = FakeEngine(endsAtOnce: false)
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.loadLimit = .seconds(1)
        let error = await #expect(throws: InferenceError.self) {
            _ = try await Model.load(contentsOf: path, configuration: configuration)
        }
        #expect(error?.message.contains("was still being loaded after 1 s") == true, "\(error?.message ?? "")")
        // The abandoned load ends when the engine does.
        #expect(
            eventually {
                engine.endOne()
                return engine.state.withLock { $0.models == 0 }
            })
    }

    /// A model folder or a named model's path that does not answer does not prevent other models from being found.
    @Test(
        "a models folder that does not answer is an error, and only the named model that does not answer fails",
        .timeLimit(.minutes(1)))
    func aFolderThatDoesNotAnswerIsReported() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["good.onnx": "", "stalled/m.onnx": ""])
        let stalled = DispatchSemaphore(value: 0)
        let disk = FolderReader.disk
        let reader = FolderReader(
            names: { (path) throws(FileFailure) in try disk.names(path) },
            kind: { (path) throws(FileFailure) in
                if path.contains("/stalled") { stalled.wait() }
                return try disk.kind(path)
            })
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        let place = folder.url.path + "/stalled"
        func repository(_ folders: [String], _ named: [NamedModel]) -> ModelRepository {
            ModelRepository(
                folders: folders, named: named, configuration: configuration, answerTime: .milliseconds(200),
                reader: reader)
        }
        let error = #expect(throws: RepositoryError.self) { try repository([place], []).discover() }
        #expect(error?.message.contains("\(place) did not answer within 0 s") == true, "\(error?.message ?? "")")
        let named = repository(
            [], [NamedModel(name: "a", path: folder.url.path + "/good.onnx"), NamedModel(name: "b", path: place)])
        try named.discover()
        await named.loadEager()
        #expect(named.records.map(\.state.name) == ["ready", "failed"])
        stalled.signal()
        stalled.signal()
    }

    /// An entry of a folder that does not answer has failed; the others are found and served, at the start and later.
    @Test(
        "an entry of a models folder that does not answer fails, and the other entries are served",
        .timeLimit(.minutes(1)))
    func anEntryThatDoesNotAnswerLeavesTheOthersServed() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["a.onnx": "", "stalled/m.onnx": "", "z.onnx": ""])
        let stalled = DispatchSemaphore(value: 0), looks = Mutex(0)
        let disk = FolderReader.disk
        let reader = FolderReader(
            names: { (path) throws(FileFailure) in try disk.names(path) },
            kind: { (path) throws(FileFailure) in
                if path.contains("/stalled") {
                    looks.withLock { $0 += 1 }
                    stalled.wait()
                }
                return try disk.kind(path)
            })
        defer { for _ in 0..<100 { stalled.signal() } }
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        let repository = ModelRepository(
            folders: [folder.url.path], configuration: configuration, answerTime: .milliseconds(200), reader: reader)
        try repository.discover()
        await repository.loadEager()
        #expect(repository.records.map { "\($0.name) \($0.state.name)" } == ["a ready", "stalled failed", "z ready"])
        let watcher = try RepositoryWatcher(repository)
        try folder.write(["b.onnx": ""])
        for _ in 0..<3 where try watcher.scan() { try await watcher.applyChanges() }
        await repository.reloadAll()
        #expect(repository.records.map(\.state.name) == ["ready", "ready", "failed", "ready"])
    }

    /// Each entry answers only while all are being read: read one after the other, all would fail.
    @Test(
        "several entries, or named models, that take long to answer are looked at together",
        .timeLimit(.minutes(1)),
        arguments: [false, true])
    func stalledEntriesAreWaitedForTogether(isNamed: Bool) async throws {
        let folder = try TemporaryFolder()
        let names = (1...40).map { "slow\($0)" }
        for name in names { try folder.write(["\(name)/\(name).onnx": "", "\(name)/config.json": "{}"]) }
        let asked = Mutex<Set<String>>([])
        let disk = FolderReader.disk
        let reader = FolderReader(
            names: { (path) throws(FileFailure) in try disk.names(path) },
            kind: { (path) throws(FileFailure) in
                if let name = path.split(separator: "/").last(where: { $0.hasPrefix("slow") }), !path.hasSuffix("x") {
                    let together = asked.withLock { asked in
                        asked.insert(String(name))
                        return (asked.count + 31) / 32 * 32
                    }
                    // Thirty-two are read at the same time, then the other eight.
                    _ = eventually(within: 10) { asked.withLock { $0.count } >= min(together, 40) }
                }
                return try disk.kind(path)
            })
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine()
        let repository = ModelRepository(
            folders: isNamed ? [] : [folder.url.path],
            named: isNamed ? names.map { NamedModel(name: $0, path: folder.url.path + "/" + $0) } : [],
            configuration: configuration, answerTime: .seconds(8), reader: reader)
        try repository.discover()
        #expect(repository.records.count == 40)
        #expect(repository.records.allSatisfy { if case .failed = $0.state { false } else { true } })
    }

    /// However often a path that does not answer is accessed, one access is under way; the path answers again when that
    /// one ends.
    @Test(
        "a path that hangs occupies one thread however often it is looked at, and answers again later",
        .timeLimit(.minutes(1)))
    func aPathThatHangsIsLookedAtByOneThread() throws {
        let stalled = DispatchSemaphore(value: 0), looks = Mutex(0)
        let path = "/nowhere/\(UUID().uuidString)"
        @Sendable func look(within time: Duration) -> Int? {
            LoaderThread.wait(within: time, on: path) {
                defer { stalled.wait() }
                return looks.withLock { looks in
                    looks += 1
                    return looks
                }
            }
        }
        for _ in 0..<5 { #expect(look(within: .milliseconds(20)) == nil) }
        #expect(eventually { looks.withLock { $0 } == 1 })
        #expect(LoaderThread.wait(within: .seconds(30), on: path + "/other") { 7 } == 7, "others do not wait")
        for _ in 0..<2 { stalled.signal() }
        #expect(look(within: .seconds(30)) == 2)
    }

    /// The number of accesses under way, and their maximum.
    private final class Looks: Sendable { let now = Mutex((running: 0, maximum: 0)) }

    /// Overlapping accesses to one path each return their own result.
    @Test(
        "overlapping reads of one path run one after the other, and each returns its own result",
        .timeLimit(.minutes(1)))
    func looksAtOnePathThatOverlapWaitForEachOther() async throws {
        let looks = Looks()
        let path = "/nowhere/\(UUID().uuidString)"
        let found = await withTaskGroup(of: Int?.self) { group in
            for index in 0..<8 {
                group.addTask {
                    await LoaderThread.run {
                        LoaderThread.wait(within: .seconds(30), on: path) {
                            looks.now.withLock { $0 = ($0.running + 1, max($0.maximum, $0.running + 1)) }
                            usleep(1_000)
                            looks.now.withLock { $0.running -= 1 }
                            return index
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(found) == Set(0..<8))
        #expect(looks.now.withLock { $0.maximum } == 1)
    }

    /// Requests during the first load wait for it.
    @Test("requests that arrive during the first load of a lazy model wait for the same load", .timeLimit(.minutes(1)))
    func firstRequestsWaitForOneLoad() async throws {
        let folder = try TemporaryFolder()
        try folder.write(["m/model.json": Bundles.manifest(), "m/m.onnx": ""])
        let gate = Gate()
        let engine = FakeEngine(onRead: gate.wait)
        let (repository, _) = try Bundles.repository(folder, engine: engine, policy: .lazy)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 { group.addTask { (try? await repository.model(named: "m")) != nil } }
            await gate.arrival()
            try? await Task.sleep(for: .milliseconds(100))
            for _ in 0..<8 { gate.pass() }
            for await isReady in group { #expect(isReady) }
        }
        #expect(engine.state.withLock { $0.loads } == 1)
    }

    /// A request that comes just after the load has ended gets its value, with or without a deadline.
    @Test(
        "a load gives its value to waiting and later callers, and an error to a caller at its deadline",
        .timeLimit(.minutes(1)))
    func aLoadThatIsOverIsNotWaitedFor() async throws {
        let load = PendingLoad<Int>()
        let soon = MonotonicInstant.now + .milliseconds(10)
        await #expect(throws: InferenceError.self) { _ = try await load.value(until: soon) }
        async let early = load.value(until: .now + .seconds(600))
        load.fulfil(5)
        #expect(try await early == 5)
        #expect(try await load.value(until: nil) == 5)
        #expect(try await load.value(until: .now + .seconds(600)) == 5)
    }

    /// If the limit rises, a waiting load begins immediately.
    @Test("raising the limit of simultaneous loads starts a waiting load at once", .timeLimit(.minutes(1)))
    func aRaisedLimitOfLoadsCountsAtOnce() async throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b"] { try folder.write(["\(name)/model.json": Bundles.manifest(), "\(name)/m.onnx": ""]) }
        let gate = Gate()
        let engine = FakeEngine(onRead: gate.wait)
        let (repository, _) = try Bundles.repository(folder, engine: engine, policy: .lazy)
        async let first = repository.model(named: "a")
        await gate.arrival()
        async let second = repository.model(named: "b")
        var configuration = ModelConfiguration()
        configuration.engine = engine
        try repository.reconfigure(
            folders: [folder.url.path], named: [], configuration: configuration, defaultPolicy: .lazy, loadsAtOnce: 2)
        await gate.arrival()
        gate.pass()
        gate.pass()
        _ = try await first
        _ = try await second
    }

    /// A request that waits for a load's turn has a deadline, like one that waits for a load, and does not affect later
    /// ones.
    @Test(
        "a request that waits for a load's turn ends at its deadline, and the load still gets its turn",
        .timeLimit(.minutes(1)))
    func whoWaitsForATurnHasADeadline() async throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b"] { try folder.write(["\(name)/model.json": Bundles.manifest(), "\(name)/m.onnx": ""]) }
        let gate = Gate()
        let (repository, _) = try Bundles.repository(folder, engine: FakeEngine(onRead: gate.wait), policy: .lazy)
        async let first = repository.model(named: "a")
        await gate.arrival()
        await #expect(throws: InferenceError.self) {
            _ = try await repository.model(named: "b", deadline: .now + .milliseconds(20))
        }
        gate.pass()
        _ = try await first
        await gate.arrival()
        gate.pass()
        _ = try await repository.model(named: "b")
    }

    @Test(
        "a lazy model that lacks threads replaces the lazy model that has been idle for longest",
        .timeLimit(.minutes(1)))
    func aLazyModelWithoutThreadsTakesThePlaceOfIdleOnes() async throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b", "c", "d", "e"] {
            let runtime = name == "e" ? #"{"load": "eager"}"# : "{}"
            try folder.write(["\(name)/model.json": Bundles.manifest(runtime: runtime), "\(name)/m.onnx": ""])
        }
        let engine = FakeEngine(maximumModels: 3)
        let (repository, events) = try Bundles.repository(folder, engine: engine, policy: .lazy)
        await repository.loadEager()
        _ = try await repository.model(named: "b")
        _ = try await repository.model(named: "a")
        #expect(events.all == ["loaded e 1", "loaded b 1", "loaded a 1"])
        _ = try await repository.model(named: "c")
        #expect(events.all.suffix(2) == ["unloaded b 1", "loaded c 1"], "the eager one stays")
        _ = try await repository.model(named: "b")
        #expect(events.all.suffix(2) == ["unloaded a 1", "loaded b 1"])
        #expect(engine.state.withLock { $0.models } == 3)
    }

    @Test(
        "a busy model keeps its threads, and the load of another model fails for lack of threads",
        .timeLimit(.minutes(1)))
    func aModelThatIsBusyKeepsItsThreads() async throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b"] {
            try folder.write(["\(name)/model.json": Bundles.manifest(), "\(name)/m.onnx": ""])
        }
        let engine = FakeEngine(requestCount: 1, endsAtOnce: false, maximumModels: 1)
        let (repository, events) = try Bundles.repository(folder, engine: engine, policy: .lazy)
        // A load ends with a first inference.
        async let load = repository.model(named: "a")
        while !engine.endOne() { try await Task.sleep(for: .milliseconds(2)) }
        let model = try await load
        let input: DictionaryFeatureProvider = [
            "x": .multiArray(try MultiArray(shape: [1, 4], floats: [1, 2, 3, 4]))
        ]
        async let prediction = model.prediction(from: input)
        while engine.running == 0 { try await Task.sleep(for: .milliseconds(2)) }
        let error = await #expect(throws: InferenceError.self) { _ = try await repository.model(named: "b") }
        #expect(error?.message.contains("no more threads") == true, "\(error as Any)")
        #expect(events.all == ["loaded a 1", "failed b 1"])
        engine.endOne()
        _ = try await prediction
    }
}

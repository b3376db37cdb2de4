import Foundation
import Inference
internal import Repository
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Predictions that run while no other does, and the variant of the model that they run on.
@Suite(.timeLimit(.minutes(2))) struct SingleStreamTests {
    private func predict(_ model: Model) async throws -> Prediction {
        let array = try MultiArray(shape: [1, 4], floats: [0, 0, 0, 0])
        return try await model.prediction(
            from: DictionaryFeatureProvider([("x", .multiArray(array))]), slot: nil)
    }

    private func load(
        _ engine: FakeEngine, singleStream: SingleStreamPolicy, runtime: String = "{}", _ folder: TemporaryFolder
    ) async throws -> Model {
        let path = try folder.write(["model.json": Bundles.manifest(runtime: runtime), "m.onnx": ""])
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.singleStream = singleStream
        return try await Model.load(contentsOf: path, configuration: configuration)
    }

    private func settled(_ model: Model) async throws -> SingleStreamReport.State? {
        for _ in 0..<2000 {
            switch model.singleStreamReport?.state {
            case .ready, .failed, nil: return model.singleStreamReport?.state
            case .notCompiled, .compiling: try await Task.sleep(for: .milliseconds(5))
            }
        }
        return model.singleStreamReport?.state
    }

    @Test("the first lone prediction has the single-stream variant compiled, and later predictions run there")
    func theFirstSingleStreamPredictionHasTheVariantCompiledAndLaterOnesRunOnIt() async throws {
        let engine = FakeEngine(threads: 4), folder = try TemporaryFolder()
        let model = try await load(engine, singleStream: .always(threads: 4), folder)
        #expect(model.singleStreamReport?.state == .notCompiled)
        #expect(engine.state.withLock { $0.loads } == 1)
        let first = try await predict(model)
        #expect(first.times.singleStreamThreads == nil)
        #expect(try await settled(model) == .ready)
        let options = engine.state.withLock { $0.options }
        #expect(options.map(\.threads) == [nil, 4])
        #expect(options.last?.hint == .latency && options.last?.streams == 1)
        let second = try await predict(model)
        #expect(second.times.singleStreamThreads == 4)
        #expect(model.singleStreamReport?.predictions == 1 && model.singleStreamReport?.threads == 4)
        _ = try await predict(model)
        #expect(engine.state.withLock { $0.loads } == 2, "it is compiled once")
    }

    @Test("the memory that the single-stream variant may take for sizes of inputs is counted while it exists")
    func theVariantsMemoryForSizesIsCounted() async throws {
        // So much that the models of other tests do not matter.
        let bytes = 1 << 44
        func counted() -> Int { DecodeBudget.shared.reserved / bytes }
        let engine = FakeEngine(threads: 4, shapeMemory: bytes), folder = try TemporaryFolder()
        var model: Model? = try await load(engine, singleStream: .always(threads: 4), folder)
        #expect(counted() == 1)
        _ = try await predict(try #require(model))
        #expect(try await settled(try #require(model)) == .ready)
        #expect(counted() == 2)
        model = nil
        for _ in 0..<2_000 where counted() > 0 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(counted() == 0)
    }

    @Test("a prediction that joins another runs on the usual threads, not on the single-stream variant")
    func predictionsThatRunSideBySideHaveTheUsualThreads() async throws {
        let engine = FakeEngine(endsAtOnce: false, threads: 4), folder = try TemporaryFolder()
        let model = try await load(
            engine, singleStream: .always(threads: 4), runtime: #"{ "warmup": { "runs": 0 } }"#, folder)
        func start() -> Task<Int?, any Error> {
            Task { try await predict(model).times.singleStreamThreads }
        }
        func wait(for running: Int) async throws {
            for _ in 0..<2000 where engine.running < running { try await Task.sleep(for: .milliseconds(5)) }
            #expect(engine.running == running)
        }
        let preparing = Task { await model.prepareForSingleStream() }
        try await wait(for: 1)
        engine.endOne()
        await preparing.value
        #expect(model.singleStreamReport?.state == .ready)
        // One begins without others; a second joins it.
        let alone = start()
        try await wait(for: 1)
        let joining = start()
        try await wait(for: 2)
        engine.endOne()
        #expect(try await alone.value == 4)
        engine.endOne()
        #expect(try await joining.value == nil)
        let next = start()
        try await wait(for: 1)
        engine.endOne()
        #expect(try await next.value == 4)
    }

    /// The variant's only request is released however a prediction ends.
    @Test("a cancelled prediction releases the single-stream variant for the next prediction")
    func aCancelledSingleStreamPredictionGivesTheVariantBack() async throws {
        let engine = FakeEngine(endsAtOnce: false, threads: 2), folder = try TemporaryFolder()
        let model = try await load(
            engine, singleStream: .always(threads: 2), runtime: #"{ "warmup": { "runs": 0 } }"#, folder)
        func wait() async throws {
            for _ in 0..<2000 where engine.running < 1 { try await Task.sleep(for: .milliseconds(5)) }
        }
        let preparing = Task { await model.prepareForSingleStream() }
        try await wait()
        engine.endOne()
        await preparing.value
        for _ in 0..<3 {
            let task = Task { try await predict(model) }
            try await wait()
            task.cancel()
            engine.endOne(cancelled: true)
            await #expect(throws: InferenceError.self) { try await task.value }
        }
        #expect(model.singleStreamReport?.predictions == 3)
    }

    @Test(
        "no variant is made where single-stream predictions are off or would have no more threads",
        arguments: [
            (SingleStreamPolicy.never, 4, "{}"), (.always(threads: 2), 4, "{}"), (.automatic(threads: 2), 4, "{}"),
            (.always(threads: 4), 4, #"{ "lone_threads": 0 }"#),
        ])
    func noVariantWhereItWouldHaveNoMoreThreads(_ singleStream: SingleStreamPolicy, _ threads: Int, _ runtime: String)
        async throws
    {
        // Two streams with two threads each.
        let engine = FakeEngine(threads: threads), folder = try TemporaryFolder()
        let model = try await load(engine, singleStream: singleStream, runtime: runtime, folder)
        #expect(model.singleStreamReport == nil)
        _ = try await predict(model)
        await model.prepareForSingleStream()
        #expect(engine.state.withLock { $0.loads } == 1)
    }

    @Test("lone_threads in a bundle overrides a configuration without single-stream variants")
    func whatTheBundleSaysCounts() async throws {
        let engine = FakeEngine(threads: 4), folder = try TemporaryFolder()
        let model = try await load(engine, singleStream: .never, runtime: #"{ "lone_threads": 3 }"#, folder)
        _ = try await predict(model)
        #expect(try await settled(model) == .ready)
        #expect(model.singleStreamReport?.threads == 3)
    }

    /// If the variant cannot be compiled, predictions continue as before, and the reason is reported.
    @Test("a variant that cannot be compiled is reported and not tried again, and predictions continue")
    func withoutAVariantPredictionsGoOn() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("m.onnx")
        let reads = Atomic<Int>(0)
        let engine = FakeEngine(
            threads: 4,
            onRead: {
                if reads.wrappingAdd(1, ordering: .relaxed).newValue == 2 { try? Data("new".utf8).write(to: file) }
            })
        let model = try await load(engine, singleStream: .always(threads: 4), folder)
        _ = try await predict(model)
        guard case .failed(let reason)? = try await settled(model) else {
            Issue.record("\(String(describing: model.singleStreamReport))")
            return
        }
        #expect(reason.contains("its files have changed"), "\(reason)")
        #expect(try await predict(model).times.singleStreamThreads == nil)
        #expect(reads.load(ordering: .relaxed) == 2, "it is not tried again")
    }

    /// The default depends on the model: small ones need no variant, nor does a model with few single-stream
    /// predictions.
    @Test("by default a variant is compiled only after eight lone predictions in a row")
    func byDefaultManySingleStreamPredictionsInARowAreNeeded() async throws {
        let engine = FakeEngine(endsAtOnce: false, threads: 4), folder = try TemporaryFolder()
        let runtime = #"{ "warmup": { "runs": 0 } }"#
        let model = try await load(engine, singleStream: .automatic(threads: 4), runtime: runtime, folder)
        func run(_ count: Int) async throws {
            let tasks = (0..<count).map { _ in Task { try await predict(model) } }
            for _ in 0..<2000 where engine.running < count { try await Task.sleep(for: .milliseconds(5)) }
            // The inference takes longer than a millisecond.
            try await Task.sleep(for: .milliseconds(2))
            for _ in 0..<count { engine.endOne() }
            for task in tasks { _ = try await task.value }
        }
        for _ in 0..<7 { try await run(1) }
        try await run(2)
        // Of two that end together, the last one may count as single-stream.
        for _ in 0..<6 { try await run(1) }
        #expect(model.singleStreamReport?.state == .notCompiled)
        for _ in 0..<2 { try await run(1) }
        // The variant's own warm-up.
        for _ in 0..<2000 where engine.running == 0 { try await Task.sleep(for: .milliseconds(5)) }
        engine.endOne()
        #expect(try await settled(model) == .ready)
    }

    @Test("by default no variant is compiled in a process that already uses too much memory")
    func thereMustBeMemoryForIt() async throws {
        let engine = FakeEngine(endsAtOnce: false, threads: 4), folder = try TemporaryFolder()
        let runtime = #"{ "warmup": { "runs": 0 } }"#
        let model = try await load(
            engine, singleStream: .automatic(threads: 4, maximumResident: 4096), runtime: runtime, folder)
        for _ in 0..<12 {
            let task = Task { try await predict(model) }
            for _ in 0..<2000 where engine.running < 1 { try await Task.sleep(for: .milliseconds(5)) }
            try await Task.sleep(for: .milliseconds(2))
            engine.endOne()
            _ = try await task.value
        }
        #expect(model.singleStreamReport?.state == .notCompiled)
    }

    /// A model whose variant is compiled, with default settings, on an engine whose inferences the test ends.
    private func prepared(_ engine: FakeEngine, _ folder: TemporaryFolder) async throws -> Model {
        let runtime = #"{ "warmup": { "runs": 0 } }"#
        let model = try await load(engine, singleStream: .automatic(threads: 4), runtime: runtime, folder)
        try await prepare(model, engine)
        return model
    }

    private func prepare(_ model: Model, _ engine: FakeEngine) async throws {
        let preparing = Task { await model.prepareForSingleStream() }
        for _ in 0..<2000 where engine.running < 1 { try await Task.sleep(for: .milliseconds(5)) }
        engine.endOne()
        await preparing.value
        #expect(model.singleStreamReport?.state == .ready)
    }

    @Test("by default a variant is released after ten minutes without use, and can be compiled again")
    func aVariantThatIsNotUsedIsReleased() async throws {
        let freed = Atomic<Int>(0)
        let folder = try TemporaryFolder()
        let engine = FakeEngine(
            endsAtOnce: false, threads: 4, onFree: { freed.wrappingAdd(1, ordering: .relaxed) })
        let model = try await prepared(engine, folder)
        model.releaseUnusedVariant(at: .now + .seconds(500))
        #expect(model.singleStreamReport?.state == .ready && freed.load(ordering: .relaxed) == 0)
        model.releaseUnusedVariant(at: .now + .seconds(601))
        #expect(model.singleStreamReport?.state == .notCompiled && freed.load(ordering: .relaxed) == 1)
        try await prepare(model, engine)
        #expect(engine.state.withLock { $0.loads } == 3)
    }

    /// With two clients, a request is often the only one for a moment.
    @Test("by default the first lone prediction after two concurrent ones runs on the usual threads")
    func theFirstPredictionAfterOthersRunsAsTheyDo() async throws {
        let folder = try TemporaryFolder()
        let engine = FakeEngine(endsAtOnce: false, threads: 4)
        let model = try await prepared(engine, folder)
        let pair = (0..<2).map { _ in Task { try await predict(model) } }
        for _ in 0..<2000 where engine.running < 2 { try await Task.sleep(for: .milliseconds(5)) }
        engine.endOne()
        engine.endOne()
        for task in pair { _ = try await task.value }
        let next = Task { try await predict(model).times.singleStreamThreads }
        for _ in 0..<2000 where engine.running < 1 { try await Task.sleep(for: .milliseconds(5)) }
        engine.endOne()
        #expect(try await next.value == nil)
    }

    @Test("the repository reports an event when a single-stream variant is compiled")
    func theRepositoryTellsOfIt() async throws {
        let folder = try TemporaryFolder()
        let engine = FakeEngine(threads: 4)
        try folder.write(["m/model.json": Bundles.manifest(runtime: #"{ "lone_threads": 4 }"#), "m/m.onnx": ""])
        let (repository, events) = try Bundles.repository(folder, engine: engine)
        await repository.loadEager()
        let model = try await repository.model(named: "m")
        _ = try await predict(model)
        _ = try await settled(model)
        for _ in 0..<2000 where events.all.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(events.all == ["loaded m 1", "single-stream variant m 1"])
    }
}

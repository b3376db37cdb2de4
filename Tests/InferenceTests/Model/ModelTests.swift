import Dispatch
import FlowControl
import Inference
import Synchronization
import SystemSupport
import Testing

/// The model over an engine that the test controls.
@Suite(.timeLimit(.minutes(2))) struct ModelTests {
    private func load(_ engine: FakeEngine, slots: Int? = nil) async throws -> (Model, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": ""])
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.maxInFlight = slots
        return (try await Model.load(contentsOf: path + "/m.onnx", configuration: configuration), folder)
    }

    private var input: DictionaryFeatureProvider {
        get throws { ["x": .multiArray(try MultiArray(shape: [1, 4], floats: [1, 2, 3, 4]))] }
    }

    /// Waits, up to a limit, until a condition is true.
    private func until(_ condition: () -> Bool) async throws {
        for _ in 0..<2000 {
            if condition() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("it never came true")
    }

    @Test("a prediction gives the engine's output under its name and releases the slot")
    func aPredictionGivesEveryOutput() async throws {
        let answer: [Float] = [4, 3, 2, 1]
        let (model, _) = try await load(FakeEngine(answer: answer.withUnsafeBytes { [UInt8]($0) }))
        let result = try await model.prediction(from: try input)
        #expect(result.featureNames == ["y"])
        guard case .multiArray(let array)? = result.featureValue(for: "y") else {
            Issue.record("no array")
            return
        }
        #expect(array.doubles == [4, 3, 2, 1])
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("a load warms up each infer request once")
    func everyRequestIsWarmedUp() async throws {
        let engine = FakeEngine(requestCount: 4)
        let (model, _) = try await load(engine)
        #expect(engine.state.withLock { $0.used.count } == 4)
        #expect(engine.started == 4)
        #expect(model.loadReport.firstPrediction != nil)
        #expect(model.instances == 4)
        _ = try await model.prediction(from: try input)
        #expect(engine.started == 5)
    }

    @Test("a missing, unknown or misshapen input is refused with the names and shapes concerned")
    func wrongInputsAreNamed() async throws {
        let (model, _) = try await load(FakeEngine())
        let three = try MultiArray(shape: [3], floats: [1, 2, 3])
        for (features, words) in [
            (["z": .multiArray(three)], ["\"z\"", "\"x\""]),
            ([:], ["\"x\"", "missing"]),
            (["x": .multiArray(three)], ["[1,4]", "[3]"]),
            (["x": .image(EncodedImage([1]))], ["an image", "[1,4]"]),
            (["x": .double(1)], ["4 numbers", "one"]),
        ] as [(DictionaryFeatureProvider, [String])] {
            let error = await #expect(throws: InferenceError.self) { _ = try await model.prediction(from: features) }
            for word in words { #expect(error?.message.contains(word) == true, "\(word): \(error?.message ?? "")") }
        }
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("200 predictions run at most two at a time on two infer requests")
    func noMoreRunThanThereAreRequests() async throws {
        let engine = FakeEngine(requestCount: 2)
        let (model, _) = try await load(engine)
        let input = try input
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 { group.addTask { _ = try? await model.prediction(from: input) } }
        }
        #expect(engine.maximum <= 2)
        #expect(engine.started == 200 + 2)  // and the warm-up of both
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("a cancelled prediction keeps its slot until the engine has stopped")
    func aCancelledPredictionKeepsItsSlotUntilTheEngineLetsGo() async throws {
        let engine = FakeEngine(requestCount: 1, endsAtOnce: false)
        let loading = Task { try await load(engine, slots: 1) }
        try await until { engine.endOne() }  // the warm-up
        let (model, _folder) = try await loading.value
        let input = try input
        let first = Task { try await model.prediction(from: input) }
        try await until { engine.running == 1 }
        first.cancel()
        try await until { engine.cancelled == 1 }
        #expect(model.limiter.snapshot.inFlight == 1, "the engine still has it")
        let second = Task { try await model.prediction(from: input) }
        try await until { model.limiter.snapshot.waiting == 1 }
        #expect(engine.running == 1, "the second must not start before the first has left the engine")
        engine.endOne(cancelled: true)
        await #expect(throws: InferenceError.self) { _ = try await first.value }
        try await until { engine.running == 1 }
        engine.endOne()
        _ = try await second.value
        #expect(model.limiter.snapshot.inFlight == 0)
        _ = _folder
    }

    @Test("a prediction that is cancelled while waiting for a slot never reaches the engine")
    func aCancelledWaiterNeverReachesTheEngine() async throws {
        let engine = FakeEngine(requestCount: 1, endsAtOnce: false)
        let loading = Task { try await load(engine, slots: 1) }
        try await until { engine.endOne() }
        let (model, _folder) = try await loading.value
        let input = try input
        let first = Task { try await model.prediction(from: input) }
        try await until { engine.running == 1 }
        let waiters = (0..<100).map { _ in Task { try await model.prediction(from: input) } }
        try await until { model.limiter.snapshot.waiting == 100 }
        for waiter in waiters { waiter.cancel() }
        for waiter in waiters { await #expect(throws: InferenceError.self) { _ = try await waiter.value } }
        engine.endOne()
        _ = try await first.value
        #expect(engine.started == 2, "the warm-up and the first")
        _ = _folder
    }

    @Test("a deadline that passes during the inference stops the engine")
    func aDeadlineStopsTheEngine() async throws {
        let engine = FakeEngine(requestCount: 1, endsAtOnce: false)
        let loading = Task { try await load(engine) }
        try await until { engine.endOne() }
        let (model, _folder) = try await loading.value
        let input = try input
        var options = PredictionOptions()
        options.deadline = .now + .milliseconds(50)
        let task = Task { [options] in try await model.prediction(from: input, options: options) }
        try await until { engine.cancelled == 1 }
        engine.endOne(cancelled: true)
        let error = await #expect(throws: InferenceError.self) { _ = try await task.value }
        guard case .deadlineExceeded(stage: .inference)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(model.limiter.snapshot.inFlight == 0)
        _ = _folder
    }

    @Test("in a batch with one bad item, only the bad item fails")
    func aBatchTellsEachItemsOwnFailure() async throws {
        let (model, _) = try await load(FakeEngine())
        let good = try input
        let bad: DictionaryFeatureProvider = ["x": .double(1)]
        let results = await model.predictions(from: [good, bad, good])
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
    }

    @Test("a synchronous prediction returns the model's output")
    func theSynchronousPredictionIsTheSame() async throws {
        let answer: [Float] = [4, 3, 2, 1]
        let (model, _) = try await load(FakeEngine(answer: answer.withUnsafeBytes { [UInt8]($0) }))
        let input = try input
        let values: [Double]? = await withCheckedContinuation { continuation in
            // A separate thread, because the call blocks.
            DispatchQueue.global().async {
                let result = try? model.prediction(from: input)
                guard case .multiArray(let array)? = result?.featureValue(for: "y") else {
                    return continuation.resume(returning: nil)
                }
                continuation.resume(returning: array.doubles)
            }
        }
        #expect(values == [4, 3, 2, 1])
    }

    @Test("streams of predictions give failures as results, drop failures, or end at the first failure")
    func theThreeStreams() async throws {
        let (model, _) = try await load(FakeEngine())
        let good = try input
        let bad: DictionaryFeatureProvider = ["x": .double(1)]
        func source() -> AsyncStream<DictionaryFeatureProvider> {
            AsyncStream { continuation in
                for features in [good, bad, good] { continuation.yield(features) }
                continuation.finish()
            }
        }
        var outcomes: [Bool] = []
        for await result in source().predictionResults(model: model) { outcomes.append((try? result.get()) != nil) }
        #expect(outcomes == [true, false, true])
        var count = 0
        for await _ in source().predictions(droppingFailures: model) { count += 1 }
        #expect(count == 2)
        count = 0
        await #expect(throws: InferenceError.self) {
            for try await _ in source().predictions(model: model) { count += 1 }
        }
        #expect(count == 1)
    }

    /// A source of inputs that ends, fails or waits as the test requires, and counts the elements that are taken from
    /// it.
    private struct Source: AsyncSequence, Sendable {
        struct Broken: Error {}
        let input: DictionaryFeatureProvider
        /// The number of inputs before it fails.
        let count: Int
        let taken = Counter()
        /// Called before each element.
        var wait: @Sendable (Int) async -> Void = { _ in }

        final class Counter: Sendable {
            let value = Mutex(0)
        }

        struct AsyncIterator: AsyncIteratorProtocol {
            let source: Source
            func next() async throws -> DictionaryFeatureProvider? {
                let index = source.taken.value.withLock { value in
                    defer { value += 1 }
                    return value
                }
                await source.wait(index)
                if Task.isCancelled { return nil }
                guard index < source.count else { throw Broken() }
                return source.input
            }
        }
        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
    }

    /// A camera's next picture may take long, or depend on the result of the previous one.
    @Test("a stream of predictions delivers finished results before the next input arrives", .timeLimit(.minutes(1)))
    func aStreamHandsOnWhatIsThereBeforeTheNextElementComes() async throws {
        let (model, _) = try await load(FakeEngine())
        let answered = AsyncStream.makeStream(of: Void.self)
        let turns = answered.stream
        let source = Source(input: try input, count: 5) { index in
            if index > 0 { for await _ in turns { return } }
        }
        var count = 0
        for await result in source.predictionResults(model: model, concurrency: 3) {
            #expect((try? result.get()) != nil)
            count += 1
            answered.continuation.yield()
        }
        #expect(count == 5)
    }

    @Test("a stream of predictions reads no further ahead than its concurrency", .timeLimit(.minutes(1)))
    func aStreamReadsNoFurtherAheadThanItMay() async throws {
        let (model, _) = try await load(FakeEngine())
        let source = Source(input: try input, count: 1_000)
        let stream = source.predictionResults(model: model, concurrency: 3)
        for taken in 0..<20 {
            var iterator = stream.makeAsyncIterator()
            #expect(await iterator.next() != nil)
            try await Task.sleep(for: .milliseconds(2))
            #expect(source.taken.value.withLock { $0 } <= taken + 1 + 3)
        }
    }

    @Test("releasing a stream of predictions, or cancelling its task, stops its source", .timeLimit(.minutes(1)))
    func aReleasedStreamStopsTheWork() async throws {
        let (model, _) = try await load(FakeEngine())
        let isReached = AsyncStream.makeStream(of: Void.self)
        let isCancelled = AsyncStream.makeStream(of: Void.self)
        let source = Source(input: try input, count: 1_000) { index in
            guard index == 2 else { return }
            isReached.continuation.yield()
            // Waits until the task is cancelled, as a sleeping source does.
            try? await Task.sleep(for: .seconds(3_600))
            isCancelled.continuation.yield()
        }
        do {
            var iterator = source.predictions(droppingFailures: model).makeAsyncIterator()
            #expect(await iterator.next() != nil)
            // If it were released earlier, this element would never be requested from the source.
            for await _ in isReached.stream { break }
        }
        for await _ in isCancelled.stream { break }
        // Now the task that iterates is cancelled.
        let task = Task { for await _ in source.predictionResults(model: model) {} }
        task.cancel()
        await task.value
    }

    @Test("a source that fails ends the stream after the results of all inputs before", .timeLimit(.minutes(1)))
    func aSourceThatFailsEndsTheStreamAfterWhatItHasGiven() async throws {
        let (model, _) = try await load(FakeEngine())
        var count = 0
        await #expect(throws: Source.Broken.self) {
            for try await _ in Source(input: try input, count: 4).predictions(model: model) { count += 1 }
        }
        #expect(count == 4)
        for await _ in Source(input: try input, count: 4).predictionResults(model: model) { count += 1 }
        for await _ in Source(input: try input, count: 4).predictions(droppingFailures: model) { count += 1 }
        #expect(count == 12)
    }
}

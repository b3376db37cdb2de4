import FlowControl
import Foundation
import Inference
import Synchronization
import SystemSupport
import Testing

/// Infer requests, deadlines and cancellations at moments at which an event could be missed.
@Suite(.timeLimit(.minutes(2))) struct RunningTests {
    private func load(_ engine: FakeEngine, slots: Int) async throws -> (Model, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": ""])
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.maxInFlight = slots
        let loading = Task { [configuration] in
            try await Model.load(contentsOf: path + "/m.onnx", configuration: configuration)
        }
        // The warm-up, one request at a time.
        for _ in 0..<engine.requestCount where !engine.endsAtOnce { try await until { engine.endOne() } }
        return (try await loading.value, folder)
    }

    private var input: DictionaryFeatureProvider {
        get throws { ["x": .multiArray(try MultiArray(shape: [1, 4], floats: [1, 2, 3, 4]))] }
    }

    private func until(_ condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(2)) }
    }

    /// The timer checks once a second, and an earlier deadline must not make it forget a later one.
    @Test("four predictions with different deadlines are all stopped, none before its time")
    func everyDeadlineStopsItsInference() async throws {
        let engine = FakeEngine(requestCount: 4, endsAtOnce: false)
        let (model, _folder) = try await load(engine, slots: 4)
        let input = try input
        let start = MonotonicInstant.now
        let tasks = [1500, 50, 100, 1200].map { milliseconds in
            var options = PredictionOptions()
            options.deadline = start + .milliseconds(milliseconds)
            return Task { [options] in try await model.prediction(from: input, options: options) }
        }
        for (index, milliseconds) in [50, 100, 1200, 1500].enumerated() {
            try await until { engine.state.withLock { $0.stopped } > index }
            #expect(MonotonicInstant.now >= start + .milliseconds(milliseconds), "\(index + 1) before their time")
        }
        #expect(engine.state.withLock { $0.stopped } == 4)
        while engine.endOne(cancelled: true) {}
        for task in tasks {
            let error = await #expect(throws: InferenceError.self) { _ = try await task.value }
            #expect(error?.message == InferenceError.deadlineExceeded(stage: .inference).message)
        }
        #expect(model.limiter.snapshot.inFlight == 0)
        _ = _folder
    }

    /// Of two deadlines the later one is set first. On a busy machine the test may be too late to see one of them
    /// separately.
    @Test("a prediction with an earlier deadline is stopped before a prediction with a later deadline")
    func anEarlierDeadlineDoesNotWaitForALaterOne() async throws {
        for _ in 0..<10 {
            let engine = FakeEngine(requestCount: 2, endsAtOnce: false)
            let (model, _folder) = try await load(engine, slots: 2)
            let input = try input
            var tasks: [Task<Prediction, any Error>] = []
            for (running, milliseconds) in [(1, 900), (2, 50)] {
                var options = PredictionOptions()
                options.deadline = .now + .milliseconds(milliseconds)
                tasks.append(Task { [options] in try await model.prediction(from: input, options: options) })
                try await until { engine.running == running }
            }
            try await until { engine.state.withLock { $0.stopped } > 0 }
            try await Task.sleep(for: .milliseconds(20))
            let stopped = engine.state.withLock { $0.stopped }
            while engine.endOne(cancelled: true) {}
            for task in tasks { await #expect(throws: InferenceError.self) { _ = try await task.value } }
            _ = _folder
            if stopped == 1 { return }
        }
        Issue.record("both are always stopped together")
    }

    /// The caller may need the slot for work after the prediction.
    @Test("a slot that the caller passes stays taken after the prediction until the caller releases it")
    func aSlotThatIsGivenIsItsGiversToRelease() async throws {
        let engine = FakeEngine(requestCount: 1)
        let (model, _folder) = try await load(engine, slots: 1)
        let slot = try await model.limiter.acquire(deadline: nil)
        _ = try await model.prediction(from: try input, slot: slot)
        #expect(model.limiter.snapshot.inFlight == 1)
        slot.release()
        #expect(model.limiter.snapshot.inFlight == 0)
        _ = try await model.prediction(from: try input)
        #expect(model.limiter.snapshot.inFlight == 0)
        _ = _folder
    }

    @Test("the queue time of a prediction includes the wait for the slot that the caller passes")
    func theTimeInTheQueue_ofAGivenSlot_isTheSlots() async throws {
        let (model, _folder) = try await load(FakeEngine(requestCount: 1), slots: 1)
        let first = try await model.limiter.acquire()
        async let second = model.limiter.acquire()
        while model.limiter.snapshot.waiting == 0 { await Task.yield() }
        try await Task.sleep(for: .milliseconds(50))
        first.release()
        let slot = try await second
        #expect(slot.waitedNanoseconds > 0)
        let result = try await model.prediction(from: try input, slot: slot)
        #expect(result.times.queue >= slot.waitedNanoseconds)
        #expect(model.statistics.queue.nanoseconds == result.times.queue)
        _ = _folder
    }

    @Test("the deadline of a finished prediction does not stop the next prediction")
    func aDeadlineThatWasMetStopsNothingLater() async throws {
        let engine = FakeEngine(requestCount: 1, endsAtOnce: false)
        let (model, _folder) = try await load(engine, slots: 1)
        let input = try input
        var options = PredictionOptions()
        options.deadline = .now + .milliseconds(100)
        let task = Task { [options] in try await model.prediction(from: input, options: options) }
        try await until { engine.endOne() }
        _ = try await task.value
        let next = Task { try await model.prediction(from: input) }
        try await until { engine.running == 1 }
        try await Task.sleep(for: .milliseconds(300))
        #expect(engine.cancelled == 0)
        engine.endOne()
        _ = try await next.value
        _ = _folder
    }

    /// Holders of slots wait for the infer request, however many they are.
    @Test("six predictions with slots share one infer request, one after the other")
    func sixSlotsShareOneInferRequest() async throws {
        let engine = FakeEngine(requestCount: 1, endsAtOnce: false)
        let (model, _folder) = try await load(engine, slots: 6)
        let input = try input
        let tasks = (0..<6).map { _ in Task { try await model.prediction(from: input) } }
        try await until { model.limiter.snapshot.inFlight == 6 }
        for _ in 0..<6 { try await until { engine.endOne() } }
        for task in tasks { _ = try await task.value }
        #expect(engine.maximum == 1)
        #expect(model.statistics.success.count == 6 && model.statistics.failure.count == 0)
        _ = _folder
    }

    /// The task is cancelled after its last check, and before the engine has begun: no inference was running yet.
    @Test("a cancellation between the last check and the engine's start stops the inference")
    func aCancellationBeforeTheStartStopsTheInference() async throws {
        let isArmed = Mutex(false)
        let engine = FakeEngine(
            requestCount: 1, endsAtOnce: false,
            onSetInput: {
                guard isArmed.withLock({ $0 }) else { return }
                withUnsafeCurrentTask { $0?.cancel() }
            })
        let (model, _folder) = try await load(engine, slots: 1)
        isArmed.withLock { $0 = true }
        let input = try input
        let task = Task { try await model.prediction(from: input) }
        try await until { engine.running == 1 }
        try await until { engine.state.withLock { $0.stopped } > 0 }
        engine.endOne(cancelled: true)
        let error = await #expect(throws: InferenceError.self) { _ = try await task.value }
        #expect(error?.message == InferenceError.cancelled(stage: .inference).message)
        _ = _folder
    }

    @Test("a model is not idle during a prediction, and its idle time counts from the prediction's end")
    func aModelThatWorksIsNotIdle() async throws {
        let engine = FakeEngine(requestCount: 1, endsAtOnce: false)
        let (model, _folder) = try await load(engine, slots: 1)
        let input = try input
        let task = Task { try await model.prediction(from: input) }
        try await until { engine.running == 1 }
        try await Task.sleep(for: .milliseconds(5))
        #expect(model.idleTime == .zero)
        let end = MonotonicInstant.now
        engine.endOne()
        _ = try await task.value
        try await Task.sleep(for: .milliseconds(5))
        let idle = model.idleTime
        #expect(idle > .zero && idle <= MonotonicInstant.now - end, "it counts from the prediction's end")
        _ = _folder
    }

    /// Each item that was run gets its share of the inference's time.
    @Test("the inference times of the items of a batch add up to the time of the batch")
    func theSharesOfABatchAddUpToItsTime() async throws {
        let folder = try TemporaryFolder()
        let json = """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "x", "type": "array", "shape": [-1, 4] } ],
              "outputs": [ { "name": "y", "type": "array", "shape": [-1, 4] } ], "runtime": { "batch": 4 } }
            """
        let path = try folder.write(["model.json": json, "m.onnx": ""])
        let port = { TensorPort(name: $0, elementType: .float32, shape: [-1, 4]) }
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine(inputs: [port("x")], outputs: [port("y")], requestCount: 1)
        let model = try await Model.load(contentsOf: path, configuration: configuration)
        let bad: DictionaryFeatureProvider = ["x": .double(1)]
        let slot = try await model.limiter.acquire()
        let results = await model.predictions(
            of: [try input, bad, try input], options: PredictionOptions(), slot: slot)
        slot.release()
        let shares = results.compactMap { try? $0.get().times.inference }
        #expect(shares.count == 2 && shares.first == shares.last)
        let batch = try #require(model.statistics.batches.first { $0.size == 3 })
        let sum = shares.reduce(0, +)
        #expect(sum <= batch.inference.nanoseconds && batch.inference.nanoseconds - sum < 2)
        #expect(batch.inference.count == 1 && model.statistics.success.count == 2)
        #expect(model.statistics.failure.count == 1 && model.statistics.executions == 1)
        #expect(model.statistics.inference.nanoseconds == sum)
    }
}

/// The conversions of input and output values that a bundle defines.
@Suite struct TransformTests {
    private func load(
        inputs: String, outputs: String, engine: FakeEngine, files: [String: String] = [:]
    ) async throws -> Model {
        let folder = try TemporaryFolder()
        let json = """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ \(inputs) ], "outputs": [ \(outputs) ] }
            """
        let path = try folder.write(["model.json": json, "m.onnx": ""].merging(files) { $1 })
        var configuration = ModelConfiguration()
        configuration.engine = engine
        return try await Model.load(contentsOf: path, configuration: configuration)
    }

    private static let array = #"{ "name": "x", "type": "array", "shape": [1, 4] }"#
    private static let plain = #"{ "name": "y", "type": "array", "shape": [1, 4] }"#

    /// A picture of one pixel: 10, 20 and 30.
    private static let pixel = EncodedImage([
        137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 144, 119,
        83, 222, 0, 0, 0, 12, 73, 68, 65, 84, 120, 156, 99, 224, 18, 145, 3, 0, 0, 104, 0, 61, 84, 8, 163, 247, 0, 0, 0,
        0, 73, 69, 78, 68, 174, 66, 96, 130,
    ])

    /// normalize: pixel * scale + bias; then quantize: (value + bias) * scale.
    @Test(
        "the pixels of a picture are normalized first and quantized second",
        arguments: [
            (
                #""normalize": { "scale": 2, "bias": 5 }, "quantize": { "scale": 3, "bias": 7 }"#,
                [96, 156, 216] as [Float]
            ),
            (#""normalize": { "scale": 2, "bias": { "r": 1, "g": 2, "b": 3 } }"#, [21, 42, 63]),
            (#""quantize": { "scale": 3, "bias": 7 }"#, [51, 81, 111]),
            (#""normalize": { "mean": [10, 20, 0], "std": [1, 2, 3], "scale": 1 }"#, [0, 0, 10]),
            (
                #""normalize": { "mean": [10, 20, 0], "std": [1, 2, 3], "scale": 1 }, "quantize": { "scale": 2, "bias": 1 }"#,
                [2, 2, 22]
            ),
        ])
    func picturesAreNormalizedAndThenQuantized(_ transforms: String, _ expected: [Float]) async throws {
        let engine = FakeEngine(inputs: [TensorPort(name: "x", elementType: .float32, shape: [1, 1, 1, 3])])
        let model = try await load(
            inputs: #"{ "name": "x", "type": "image", "shape": [1, 1, 3], "format": "RGB", \#(transforms) }"#,
            outputs: Self.plain, engine: engine)
        let npy = try model.preprocess(Self.pixel).npy()
        let values = npy.suffix(12).withUnsafeBytes { raw in
            (0..<3).map { raw.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
        }
        #expect(values == expected)
    }

    private func outputs(_ layer: String, answer: [Float], files: [String: String] = [:]) async throws -> FeatureValue?
    {
        let engine = FakeEngine(answer: answer.withUnsafeBytes { [UInt8]($0) })
        let model = try await load(inputs: Self.array, outputs: layer, engine: engine, files: files)
        let input = FeatureValue.multiArray(try MultiArray(shape: [1, 4], floats: [1, 2, 3, 4]))
        let result = try await model.prediction(from: DictionaryFeatureProvider([("x", input)]))
        return result.featureValue(for: "y")
    }

    @Test(
        "output numbers are first dequantized and then activated",
        arguments: [
            (#""dequantize": { "scale": 2, "bias": 5 }"#, [7, 9, 11, 13] as [Double]),
            (#""activation": "sigmoid""#, [0.7310586, 0.8807971, 0.9525741, 0.9820138]),
            (#""activation": "softmax""#, [0.0320586, 0.0871443, 0.2368828, 0.6439143]),
            (#""dequantize": { "scale": 0, "bias": 5 }, "activation": "softmax""#, [0.25, 0.25, 0.25, 0.25]),
        ])
    func numbersComeOutTransformed(_ transform: String, _ expected: [Double]) async throws {
        let layer = #"{ "name": "y", "type": "array", "shape": [1, 4], \#(transform) }"#
        guard case .multiArray(let array)? = try await outputs(layer, answer: [1, 2, 3, 4]) else {
            Issue.record("no array")
            return
        }
        #expect(zip(array.doubles, expected).allSatisfy { abs($0 - $1) < 1e-6 } && array.count == 4, "\(array.doubles)")
    }

    @Test("softmax of values around 1000 stays finite")
    func softmaxOfLargeValues() async throws {
        let layer = #"{ "name": "y", "type": "array", "shape": [1, 4], "activation": "softmax" }"#
        guard case .multiArray(let array)? = try await outputs(layer, answer: [1000, 1000, -1000, 999]) else {
            Issue.record("no array")
            return
        }
        #expect(abs(array.doubles[0] - 0.4223188) < 1e-6 && array.doubles[2] == 0, "\(array.doubles)")
    }

    @Test("predict gives NaN for all values of a softmax that is not a number")
    func softmaxOfNoNumbers() async throws {
        let layer = #"{ "name": "y", "type": "array", "shape": [1, 4], "activation": "softmax" }"#
        for answer in [[.nan, 0, 1, 2], [0, 1, .infinity, 2], [Float](repeating: -.infinity, count: 4)] {
            guard case .multiArray(let array)? = try await outputs(layer, answer: answer) else {
                Issue.record("no array")
                return
            }
            #expect(array.count == 4 && array.doubles.allSatisfy(\.isNaN), "\(array.doubles)")
        }
    }

    @Test("an output with labels gives a dictionary of scores by label, in the order of the file")
    func labelsStandForThePlacesOfScores() async throws {
        let layer = #"{ "name": "y", "type": "array", "shape": [1, 4], "labels": "l.txt" }"#
        guard
            case .dictionary(let values)? = try await outputs(
                layer, answer: [1, 4, 2, 3], files: ["l.txt": "a\nb\nc\nd\n"])
        else {
            Issue.record("no dictionary")
            return
        }
        #expect(values == zip(["a", "b", "c", "d"], [1.0, 4, 2, 3]).map { LabeledValue(label: $0, value: $1) })
    }

    @Test(
        "a labels file with one label too few or too many is a problem",
        arguments: [("a\nb\nc\n", "has 3 labels"), ("a\nb\nc\nd\ne", "has 5 labels")])
    func aLabelTooManyOrTooFewIsAProblem(_ labels: String, _ words: String) async throws {
        let layer = #"{ "name": "y", "type": "array", "shape": [1, 4], "labels": "l.txt" }"#
        let error = await #expect(throws: InferenceError.self) {
            _ = try await outputs(layer, answer: [1, 4, 2, 3], files: ["l.txt": labels])
        }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test("a classification gives the best classes in order, limited by count and threshold")
    func classesOfAPicture() async throws {
        let scores: [Float] = [0.1, 0.4, 0.3, 0.2]
        let engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: [1, 1, 1, 3])],
            answer: scores.withUnsafeBytes { [UInt8]($0) })
        let model = try await load(
            inputs: #"{ "name": "x", "type": "image", "shape": [1, 1, 3], "format": "RGB" }"#,
            outputs: #"{ "name": "y", "type": "array", "shape": [1, 4], "labels": "l.txt" }"#, engine: engine,
            files: ["l.txt": "a\nb\nc\nd\n"])
        let two = try await model.classification(of: Self.pixel, top: 2)
        #expect(two.classifications.map(\.label) == ["b", "c"])
        #expect(two.classifications.map(\.confidence) == [0.4, 0.3])
        let sure = try await model.classification(of: Self.pixel, top: 4, threshold: 0.2)
        #expect(sure.classifications.map(\.label) == ["b", "c", "d"])
    }
}

internal import EngineOpenVINO
import FlowControl
import Foundation
import Inference
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Inferences that fail in the engine: no later request, with the same input or another, is answered from leftover
/// values.
@Suite struct FailedInferenceTests {
    /// The engines that compute shapes from values. LiteRT does not; `LiteRTRequestTests` has its failures.
    private static let engines = EnginesTests.engines.filter { $0 != .litert }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func load(_ file: ONNXFile, on engine: EnginePreference) async throws -> Model {
        let path = folder.url.appendingPathComponent("model.onnx")
        try file.bytes.write(to: path)
        var configuration = ModelConfiguration()
        configuration.engineRequest.preference = engine
        configuration.compile.streams = 2
        configuration.compile.threads = 2
        let model = try await Model.load(contentsOf: path.path, configuration: configuration)
        #expect(model.loadReport.engine?.name == engine.rawValue)
        return model
    }

    /// The output's numbers; nil if the engine failed.
    private func answer(_ model: Model, _ inputs: [(String, [Float])]) async throws -> [Double]? {
        let features = DictionaryFeatureProvider(
            try inputs.map { ($0, .multiArray(try MultiArray(shape: [$1.count], floats: $1))) })
        do throws(InferenceError) {
            let prediction = try await model.prediction(from: features)
            guard case .multiArray(let array)? = prediction.featureValue(for: "y") else { return [] }
            return array.doubles
        } catch {
            switch error {
            case .engine, .invalidInput: return nil
            default: throw error
            }
        }
    }

    /// The shape is a value in the request: no input has an open shape, so no shape can be checked beforehand. A load
    /// runs the model on zeros, which mean [1, 8].
    private static let reshape = ONNXFile(
        [
            .init("Add", ["s", "offset"], ["sum"]), .init("Cast", ["sum"], ["pattern"], integers: [("to", [7])]),
            .init("Relu", ["x"], ["r"]), .init("Reshape", ["r", "pattern"], ["y"]),
        ], inputs: [("x", [8]), ("s", [2])], outputs: [("y", [-1, -1])], constants: [("offset", [1, 8])])

    @Test("an input that a layer refuses is refused every time, by every engine", arguments: engines)
    func aRefusedInputIsRefusedEveryTime(engine: EnginePreference) async throws {
        let model = try await load(Self.reshape, on: engine)
        let x = (0..<8).map { Float($0) }
        func answer(_ rows: Float, _ columns: Float) async throws -> [Double]? {
            try await self.answer(model, [("x", x), ("s", [rows - 1, columns - 8])])
        }
        for round in 0..<3 {
            for (rows, columns) in [(2, 4), (4, 2), (8, 1)] as [(Float, Float)] {
                #expect(try await answer(rows, columns) == x.map(Double.init), "\(round): \(rows), \(columns)")
            }
            for (rows, columns) in [(3, 4), (3, 4), (3, 4), (3, 4), (5, 2), (5, 2), (5, 2)] as [(Float, Float)] {
                #expect(try await answer(rows, columns) == nil, "\(round): \(rows), \(columns)")
            }
        }
    }

    /// The indices of the nonzero values and of two more, in two rows.
    private static let indices = ONNXFile(
        [
            .init("Concat", ["x", "ones"], ["values"], integers: [("axis", [0])]),
            .init("NonZero", ["values"], ["found"]), .init("Cast", ["found"], ["numbers"], integers: [("to", [1])]),
            .init("Relu", ["numbers"], ["r"]), .init("Constant", [], ["rows"], integers: [("value_ints", [2, -1])]),
            .init("Reshape", ["r", "rows"], ["y"]),
        ], inputs: [("x", [8])], outputs: [("y", [2, -1])], constants: [("ones", [1, 1])])

    private static func input(_ count: Int) -> [Float] { (0..<8).map { Float($0 < count ? 1 : 0) } }

    private static func expected(_ count: Int) -> [Double]? {
        count % 2 == 0 ? (0..<count).map(Double.init) + [8, 9] : nil
    }

    @Test("an input that a layer refuses does not affect later inputs", arguments: engines)
    func theInputsAfterItAreAnswered(engine: EnginePreference) async throws {
        let model = try await load(Self.indices, on: engine)
        let seed = SplitMix.seed(for: "theInputsAfterItAreAnswered")
        var random = SplitMix(seed: seed)
        for round in 0..<60 {
            let count = Int(random.next() % 9), answer = try await answer(model, [("x", Self.input(count))])
            #expect(answer == Self.expected(count), "round \(round), seed \(seed): \(count)")
        }
        // Concurrently, no answer belongs to another input or contains leftover values of a failed inference.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<60 {
                let count = [2, 4, 6, 8, 3][index % 5]
                group.addTask {
                    guard let answer = try await answer(model, [("x", Self.input(count))]) else { return }
                    #expect(answer == Self.expected(count), "\(index): \(count)")
                }
            }
            try await group.waitForAll()
        }
        for count in [2, 4, 6, 8, 2] {
            #expect(try await answer(model, [("x", Self.input(count))]) == Self.expected(count))
        }
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    private func model(_ engine: FakeEngine) async throws -> Model {
        var configuration = ModelConfiguration()
        configuration.engine = engine
        return try await Model.load(
            contentsOf: try folder.write(["m.onnx": ""]) + "/m.onnx", configuration: configuration)
    }

    private func predict(_ model: Model, _ options: PredictionOptions = PredictionOptions()) async throws {
        _ = try await model.prediction(
            from: ["x": .multiArray(try MultiArray(shape: [1, 4], floats: [0, 0, 0, 0]))] as DictionaryFeatureProvider,
            options: options)
    }

    @Test("the infer request of a failed inference is never used again, and the pool keeps its size")
    func aFailedRequestIsReplaced() async throws {
        let engine = FakeEngine(requestCount: 2)
        let model = try await model(engine)
        engine.state.withLock { $0.failures = 3 }
        for _ in 0..<3 {
            await #expect(throws: InferenceError.self) { try await predict(model) }
        }
        for _ in 0..<20 { _ = try await predict(model) }
        let (failed, usedAgain) = engine.state.withLock { ($0.failed.count, $0.usedAgain) }
        #expect(failed == 3 && usedAgain == 0)
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("if no new infer request can be made, predictions fail with the engine's reason until one can")
    func aRequestThatCannotBeMadeIsTriedAgain() async throws {
        let engine = FakeEngine(requestCount: 1)
        let model = try await model(engine)
        engine.state.withLock { ($0.failures, $0.makesRequests) = (1, false) }
        for _ in 0..<3 {
            await #expect(throws: InferenceError.self) { try await predict(model) }
        }
        engine.state.withLock { $0.makesRequests = true }
        try await predict(model)
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("predictions that wait for a new infer request keep their deadlines and share its creation")
    func deadlinesHoldWhileARequestIsMade() async throws {
        let isBlocked = Atomic(false), made = Atomic(0), gate = DispatchSemaphore(value: 0)
        let engine = FakeEngine(
            requestCount: 1,
            onMakeRequest: {
                made.add(1, ordering: .relaxed)
                if isBlocked.load(ordering: .acquiring) { gate.wait() }
            })
        let model = try await model(engine)
        engine.state.withLock { $0.failures = 1 }
        await #expect(throws: InferenceError.self) { try await predict(model) }
        let before = made.load(ordering: .relaxed)
        isBlocked.store(true, ordering: .releasing)
        var options = PredictionOptions()
        for _ in 0..<3 {
            options.deadline = .now + .milliseconds(20)
            await #expect {
                try await predict(model, options)
            } throws: { error in
                guard case .deadlineExceeded = error as? InferenceError else { return false }
                return true
            }
        }
        let cancelled = Task { try await predict(model) }
        cancelled.cancel()
        await #expect(throws: InferenceError.self) { try await cancelled.value }
        #expect(made.load(ordering: .relaxed) == before + 1)
        isBlocked.store(false, ordering: .releasing)
        gate.signal()
        for _ in 0..<3 { try await predict(model) }
        #expect(made.load(ordering: .relaxed) == before + 1)
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("an inference that succeeds after another one failed, and whose status is read first, is doubtful")
    func aSuccessAfterAFailureIsDoubtful() throws {
        let path = folder.url.appendingPathComponent("model.onnx")
        try Self.indices.bytes.write(to: path)
        var options = CompileOptions()
        (options.streams, options.threads) = (1, 1)
        let compiled = try OpenVINOEngine.shared().read(ModelSource(path: path.path)).compile(options)
        func start(_ count: Int) throws -> (any InferRequest, DispatchSemaphore) {
            let request = try compiled.makeRequest(), ended = DispatchSemaphore(value: 0)
            let tensor = try compiled.makeTensor(elementType: .float32, shape: [8])
            tensor.bytes.withMemoryRebound(to: Float.self) { floats in
                for (index, value) in Self.input(count).enumerated() { floats[index] = value }
            }
            try request.setInput(0, to: tensor)
            try request.start { ended.signal() }
            return (request, ended)
        }
        // On one stream: the second one runs after the first one has failed.
        let (failing, failed) = try start(3), (good, ended) = try start(4)
        failed.wait()
        ended.wait()
        #expect {
            try good.finish()
        } throws: { ($0 as? EngineError)?.kind == .doubtful }
        #expect {
            try failing.finish()
        } throws: { ($0 as? EngineError)?.kind == .failure }
        #expect(!good.isFit && !failing.isFit)
        let (next, done) = try start(4)
        done.wait()
        try next.finish()
        #expect(next.isFit)
    }

    @Test("an answer that another inference's failure may have affected is computed again")
    func aDoubtfulAnswerIsComputedAgain() async throws {
        let engine = FakeEngine(requestCount: 2)
        let model = try await model(engine)
        let before = engine.started
        engine.state.withLock { $0.doubts = 1 }
        try await predict(model)
        #expect(engine.started == before + 2)
        // The number of attempts is limited.
        engine.state.withLock { $0.doubts = 1_000 }
        await #expect(throws: InferenceError.self) { try await predict(model) }
        #expect(engine.started < before + 20)
        #expect(model.limiter.snapshot.inFlight == 0)
    }
}

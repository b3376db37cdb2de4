import Dispatch
import FlowControl
import Foundation
import Inference
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Inputs that a model's engine refuses run on the runtime of the file's format, with fake engines.
@Suite(.timeLimit(.minutes(2))) struct FallbackTests {
    /// Two engines for the same files. The first one refuses 13 rows and 200 or more before an inference, and more
    /// than 100 rows in it, and answers zeros; the other one answers ones.
    private final class Pair: Engine {
        let version = "pair"
        let first: FakeEngine, other: FakeEngine
        /// The numbers of rows that the first engine was asked to check.
        let checked: Checks

        final class Checks: Sendable {
            let rows = Mutex<[Int]>([])
            var count: Int { rows.withLock { $0.count } }
        }

        init(_ other: FakeEngine, isOpen: Bool = true) {
            let checked = Checks()
            self.checked = checked
            first = FakeEngine(
                inputs: isOpen ? FallbackTests.inputs : FallbackTests.fixed, outputs: FallbackTests.outputs,
                maximumItems: 100,
                onCheck: { shapes in
                    let rows = shapes[0]?.dimensions.first ?? 0
                    checked.rows.withLock { $0.append(rows) }
                    return rows == 13 || rows >= 200 ? "refuses \(rows) rows" : nil
                })
            self.other = other
        }

        func availableDevices() throws(EngineError) -> [ComputeDevice] { [] }
        func read(_ source: ModelSource) throws(EngineError) -> any ModelFile { try first.read(source) }
        func open(_ source: ModelSource) throws(EngineError) -> OpenedModel {
            OpenedModel(file: try first.read(source), engine: first, alternative: other)
        }
    }

    private static let inputs = [TensorPort(name: "x", elementType: .float32, shape: [Shape.dynamic, 4])]
    private static let outputs = [TensorPort(name: "y", elementType: .float32, shape: [Shape.dynamic, 4])]
    private static let fixed = [TensorPort(name: "x", elementType: .float32, shape: [1, 4])]

    private static func other(
        inputs: [TensorPort] = inputs, maximumItems: Int = .max, kind: EngineError.Kind = .invalidInput,
        maximumModels: Int = .max, endsAtOnce: Bool = true, onRead: @escaping @Sendable () -> Void = {}
    ) -> FakeEngine {
        FakeEngine(
            inputs: inputs, outputs: outputs, answer: [Float](repeating: 1, count: 4).withUnsafeBytes { [UInt8]($0) },
            endsAtOnce: endsAtOnce, maximumItems: maximumItems, kindOfTooMany: kind, maximumModels: maximumModels,
            onRead: onRead)
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func load(_ pair: Pair, slots: Int = 4) async throws -> Model {
        var configuration = ModelConfiguration()
        configuration.engine = pair
        configuration.maxInFlight = slots
        return try await Model.load(
            contentsOf: try folder.write(["m.onnx": ""]) + "/m.onnx", configuration: configuration)
    }

    /// The engine that has answered: 0 for the first one, 1 for the other one.
    private func answer(
        _ model: Model, rows: Int, _ options: PredictionOptions = PredictionOptions()
    ) async throws -> Double {
        let array = try MultiArray(shape: [rows, 4], floats: [Float](repeating: 2, count: rows * 4))
        let prediction = try await model.prediction(
            from: ["x": .multiArray(array)] as DictionaryFeatureProvider, options: options)
        guard case .multiArray(let y)? = prediction.featureValue(for: "y") else {
            Issue.record("the output is not an array")
            return -1
        }
        #expect(y.shape == [rows, 4] && Set(y.doubles).count == 1)
        return y.doubles.first ?? -1
    }

    private func error(_ model: Model, rows: Int) async -> InferenceError? {
        await #expect(throws: InferenceError.self) { try await answer(model, rows: rows) }
    }

    private func until(_ condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(2)) }
    }

    // MARK: Learning

    @Test("rows that the engine refuses before an inference run on the other one, and are not checked again")
    func whatACheckRefusesRunsElsewhere() async throws {
        let pair = Pair(Self.other()), told = Mutex<[String]>([])
        let model = try await load(pair)
        model.fallback?.listen { text in told.withLock { $0.append(text) } }
        #expect(try await answer(model, rows: 2) == 0)
        // Without a refusal the other engine reads nothing.
        #expect(pair.other.state.withLock { $0.sources.count } == 0)
        for _ in 0..<3 { #expect(try await answer(model, rows: 13) == 1) }
        #expect(try await answer(model, rows: 2) == 0)
        #expect(pair.checked.rows.withLock { $0 } == [2, 13])
        #expect(pair.first.started == 2 && pair.other.started == 3)
        #expect(pair.other.state.withLock { $0.loads } == 1)
        #expect(model.statistics.fallbacks == 3 && model.statistics.success.count == 5)
        _ = try await answer(model, rows: 1_000)
        #expect(
            told.withLock { $0 } == [
                "fake 1 runs inputs that fake 1 refuses, and has run one of shape [13,4]: "
                    + "the model does not take shape [13,4]: refuses 13 rows"
            ])
    }

    @Test("rows at which an inference fails run on the other engine, and the first one is not asked again")
    func whatAnInferenceRefusesRunsElsewhere() async throws {
        let pair = Pair(Self.other())
        let model = try await load(pair)
        for _ in 0..<3 { #expect(try await answer(model, rows: 101) == 1) }
        #expect(pair.first.started == 1 && pair.other.started == 3)
        #expect(try await answer(model, rows: 100) == 0)
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("after 256 sets of refused shapes they are forgotten, so that they take no more memory")
    func theMemoryOfRefusalsIsBounded() async throws {
        let pair = Pair(Self.other())
        let model = try await load(pair)
        for rows in 200..<456 { #expect(try await answer(model, rows: rows) == 1) }
        #expect(try await answer(model, rows: 200) == 1)
        #expect(pair.checked.count == 256)
        for _ in 0..<2 { #expect(try await answer(model, rows: 456) == 1) }
        #expect(pair.checked.count == 257)
        #expect(try await answer(model, rows: 200) == 1)
        #expect(pair.checked.count == 258)
    }

    @Test("values of a fixed shape at which an inference fails run on the other engine if that takes them")
    func valuesThatAreRefusedRunElsewhere() async throws {
        let pair = Pair(Self.other(inputs: Self.fixed), isOpen: false)
        let model = try await load(pair)
        let before = pair.first.started
        pair.first.state.withLock { $0.failures = 1 }
        for _ in 0..<3 { #expect(try await answer(model, rows: 1) == 1) }
        #expect(pair.first.started == before + 1)
    }

    @Test("values of a fixed shape that both engines refuse do not send others to the other engine")
    func wrongValuesOfAFixedShapeAreNotRemembered() async throws {
        let pair = Pair(Self.other(inputs: Self.fixed, maximumItems: 0), isOpen: false)
        let model = try await load(pair)
        pair.first.state.withLock { $0.failures = 1 }
        guard case .invalidInput(name: "x", let reason)? = await error(model, rows: 1) else {
            Issue.record("the input is not at fault")
            return
        }
        #expect(reason == "the test wants it; fake 1: too many items: 1")
        #expect(try await answer(model, rows: 1) == 0)
    }

    // MARK: Both refuse

    @Test(
        "rows that both engines refuse are an invalid input with both reasons, each time of the other engine alone"
    )
    func whatBothRefuseIsTheCallersMistake() async throws {
        let pair = Pair(Self.other(maximumItems: 12))
        let model = try await load(pair)
        for _ in 0..<3 {
            guard case .invalidInput(name: "x", let reason)? = await error(model, rows: 13) else {
                Issue.record("rows that are checked")
                continue
            }
            #expect(reason == "the model does not take shape [13,4]: refuses 13 rows; fake 1: too many items: 13")
            guard case .invalidInput(name: "x", let reason)? = await error(model, rows: 101) else {
                Issue.record("rows that fail")
                continue
            }
            #expect(reason == "too many items: 101; fake 1: too many items: 101" || reason == "too many items: 101")
        }
        #expect(pair.checked.rows.withLock { $0 } == [13, 101])
        #expect(pair.first.started == 1 && pair.other.started == 6)
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("if neither engine names the input as the cause, the error is that of an engine")
    func aFailureOfBothIsAFailure() async throws {
        let pair = Pair(Self.other(maximumItems: 12, kind: .failure))
        let model = try await load(pair)
        pair.other.state.withLock { $0.failures = 0 }
        guard case .engine(let error)? = await error(model, rows: 101) else {
            Issue.record("not an engine's error")
            return
        }
        #expect(error.kind == .failure && error.detail == "too many items: 101")
        // The check has named the shape.
        guard case .invalidInput(name: "x", _)? = await self.error(model, rows: 13) else {
            Issue.record("not an invalid input")
            return
        }
    }

    // MARK: Without the runtime

    @Test("a runtime that sees other inputs is not used, and the engine's own error is the answer each time")
    func aRuntimeWithOtherInputsIsNotUsed() async throws {
        let pair = Pair(Self.other(inputs: [TensorPort(name: "x", elementType: .float32, shape: [2, 2, 4])]))
        let model = try await load(pair)
        for _ in 0..<3 {
            guard case .invalidInput(name: "x", let reason)? = await error(model, rows: 13) else {
                Issue.record("not an invalid input")
                continue
            }
            #expect(reason == "the model does not take shape [13,4]: refuses 13 rows")
        }
        // Nothing is remembered: the engine may take other values of the shape.
        #expect(pair.checked.count == 3 && pair.other.started == 0)
        #expect(pair.other.state.withLock { $0.loads } == 1)
        try await until { pair.other.state.withLock { $0.models } == 0 }
    }

    @Test("if no thread is left for the runtime, the error says so, and it is tried again")
    func aRuntimeWithoutThreadsIsTriedAgain() async throws {
        let pair = Pair(Self.other(maximumModels: 0))
        let model = try await load(pair)
        for _ in 0..<2 {
            guard case .engine(let error)? = await error(model, rows: 13) else {
                Issue.record("not an engine's error")
                continue
            }
            #expect(error.kind == .noThreads)
        }
        #expect(pair.other.state.withLock { $0.loads } == 2)
    }

    @Test("an inference that stays doubtful runs on the other engine, and its shape is not remembered")
    func whatStaysDoubtfulRunsElsewhere() async throws {
        let pair = Pair(Self.other())
        let model = try await load(pair)
        pair.first.state.withLock { $0.doubts = 1_000 }
        #expect(try await answer(model, rows: 2) == 1)
        pair.first.state.withLock { $0.doubts = 0 }
        #expect(try await answer(model, rows: 2) == 0)
    }

    // MARK: Endings

    @Test("a request that is cancelled, or whose deadline passes, while the other engine runs stops that engine")
    func whatRunsElsewhereCanBeStopped() async throws {
        let pair = Pair(Self.other(endsAtOnce: false))
        let model = try await load(pair)
        let cancelled = Task { try await answer(model, rows: 13) }
        try await until { pair.other.running == 1 }
        cancelled.cancel()
        try await until { pair.other.state.withLock { $0.stopped } > 0 }
        // Nothing is released before the engine has ended.
        #expect(model.limiter.snapshot.inFlight == 1)
        pair.other.endOne(cancelled: true)
        let error = await #expect(throws: InferenceError.self) { try await cancelled.value }
        guard case .cancelled(stage: .inference)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // On a busy machine a deadline may pass before the inference begins; then a later one follows.
        for time in [Duration.milliseconds(20), .seconds(1), .seconds(20)] {
            let (stopped, started) = (pair.other.state.withLock { $0.stopped }, pair.other.started),
                isLate = Atomic(false)
            var options = PredictionOptions()
            options.deadline = .now + time
            let late = Task { [options] in
                defer { isLate.store(true, ordering: .releasing) }
                return try await answer(model, rows: 13, options)
            }
            try await until {
                pair.other.state.withLock { $0.stopped } > stopped || isLate.load(ordering: .acquiring)
            }
            pair.other.endOne(cancelled: true)
            let second = await #expect(throws: InferenceError.self) { try await late.value }
            guard pair.other.started > started else { continue }
            guard case .deadlineExceeded(stage: .inference)? = second else {
                Issue.record("\(String(describing: second))")
                return
            }
            #expect(model.limiter.snapshot.inFlight == 0)
            return
        }
        Issue.record("no inference began within 20 seconds")
    }

    @Test("requests that wait for the runtime keep their deadlines, and share it")
    func whatWaitsForTheRuntimeCanBeStopped() async throws {
        let gate = DispatchSemaphore(value: 0), reads = Atomic(0)
        let pair = Pair(
            Self.other(onRead: {
                reads.wrappingAdd(1, ordering: .relaxed)
                gate.wait()
            }))
        let model = try await load(pair)
        let waiting = Task { try await answer(model, rows: 13) }, cancelled = Task { try await answer(model, rows: 13) }
        try await until { reads.load(ordering: .relaxed) == 1 && model.limiter.snapshot.inFlight == 2 }
        // The other requests of the model go on.
        #expect(try await answer(model, rows: 2) == 0)
        cancelled.cancel()
        await #expect(throws: InferenceError.self) { try await cancelled.value }
        var options = PredictionOptions()
        options.deadline = .now + .milliseconds(20)
        await #expect(throws: InferenceError.self) { try await answer(model, rows: 13, options) }
        #expect(reads.load(ordering: .relaxed) == 1 && !waiting.isCancelled)
        gate.signal()
        #expect(try await waiting.value == 1)
        #expect(reads.load(ordering: .relaxed) == 1 && model.limiter.snapshot.inFlight == 0)
    }

    @Test("a hundred concurrent requests of mixed shapes are each answered by the right engine")
    func manyShapesAtOnce() async throws {
        let pair = Pair(Self.other())
        let model = try await load(pair, slots: 8)
        let seed = SplitMix.seed(for: "manyShapesAtOnce")
        var random = SplitMix(seed: seed)
        let shapes = (0..<100).map { _ in [1, 2, 13, 99, 101, 102, 500, 2_000].randomElement(using: &random) ?? 1 }
        let answers = try await withThrowingTaskGroup(of: (Int, Double).self) { group in
            for (index, rows) in shapes.enumerated() {
                group.addTask { (index, try await answer(model, rows: rows)) }
            }
            return try await group.reduce(into: [Int: Double]()) { $0[$1.0] = $1.1 }
        }
        for (index, rows) in shapes.enumerated() {
            #expect(answers[index] == (rows == 13 || rows > 100 ? 1 : 0), "\(rows), seed \(seed)")
        }
        #expect(pair.other.state.withLock { $0.loads } == 1)
        // One infer request of the runtime for each of the first engine's.
        #expect(pair.other.maximum <= pair.first.requestCount)
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("the runtime is released when it was not used for ten minutes, and with the model")
    func theRuntimeIsReleased() async throws {
        let pair = Pair(Self.other())
        var model: Model? = try await load(pair)
        _ = try await answer(try #require(model), rows: 13)
        model?.releaseUnusedVariant(at: .now + .seconds(500))
        _ = try await answer(try #require(model), rows: 13)
        #expect(pair.other.state.withLock { $0.loads } == 1)
        model?.releaseUnusedVariant(at: .now + .seconds(700))
        try await until { pair.other.state.withLock { $0.models } == 0 }
        // The shapes are still known.
        #expect(try await answer(try #require(model), rows: 13) == 1)
        #expect(pair.checked.count == 1 && pair.other.state.withLock { $0.loads } == 2)
        model = nil
        try await until { pair.other.state.withLock { $0.models } == 0 && pair.first.state.withLock { $0.models } == 0 }
    }
}

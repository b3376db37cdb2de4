import Dispatch
import FlowControl
import Foundation
import Inference
import Synchronization
import SystemSupport
import Testing

/// Shapes that callers give to open axes are checked one set at a time, and never on a thread that requests need.
@Suite struct ShapeChecksTests {
    /// Checks that end when the test allows it, for an engine with a model of one input with any number of rows.
    private final class Tries: Sendable {
        struct State {
            var tried: [Int] = []
            var under = 0, maximum = 0
        }

        let state = Mutex(State())
        /// Numbers of rows for which the check waits for a signal.
        let slow: Range<Int>
        let gate = DispatchSemaphore(value: 0)

        init(slow: Range<Int>) { self.slow = slow }

        func run(_ shapes: [Int: Shape]) -> String? {
            let rows = shapes[0]?.dimensions.first ?? 0
            state.withLock { state in
                state.tried.append(rows)
                state.under += 1
                state.maximum = max(state.maximum, state.under)
            }
            if slow.contains(rows) { gate.wait() }
            state.withLock { $0.under -= 1 }
            return rows == 13 ? "thirteen rows" : nil
        }

        var tried: [Int] { state.withLock { $0.tried } }
    }

    private func load(_ tries: Tries, slots: Int = 64) async throws -> (Model, TemporaryFolder) {
        let engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: [Shape.dynamic, 4])],
            onCheck: { tries.run($0) })
        let folder = try TemporaryFolder()
        let path = try folder.write(["m.onnx": ""])
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.maxInFlight = slots
        return (try await Model.load(contentsOf: path + "/m.onnx", configuration: configuration), folder)
    }

    private func features(_ rows: Int) throws -> DictionaryFeatureProvider {
        ["x": .multiArray(try MultiArray(shape: [rows, 4], floats: [Float](repeating: 1, count: rows * 4)))]
    }

    private func until(_ condition: () -> Bool) async throws {
        for _ in 0..<2000 {
            if condition() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("it never came true")
    }

    @Test(
        "a request with known shapes does not wait while the shapes of other requests are tried",
        .timeLimit(.minutes(2)))
    func whoBringsKnownShapesDoesNotWaitForTries() async throws {
        let tries = Tries(slow: 100..<200)
        let (model, _) = try await load(tries)
        _ = try await model.prediction(from: features(1))
        // More requests with new shapes than tasks have threads.
        let count = ProcessInfo.processInfo.activeProcessorCount * 2 + 8
        let waiting = try (0..<count).map { number in
            let given = try features(100 + number)
            return Task { try await model.prediction(from: given) }
        }
        try await until { tries.tried.count == 2 && model.limiter.snapshot.inFlight == count }
        for _ in 0..<20 { _ = try await model.prediction(from: features(1)) }
        #expect(tries.tried.count == 2)
        for _ in 0..<count { tries.gate.signal() }
        for task in waiting { _ = try await task.value }
        #expect(tries.state.withLock { $0.maximum } == 1)
        #expect(tries.tried.sorted() == [1] + (100..<100 + count))
    }

    @Test("the same new shape of eight requests is checked once", .timeLimit(.minutes(2)))
    func theSameShapesAreTriedOnce() async throws {
        let tries = Tries(slow: 100..<101)
        let (model, _) = try await load(tries)
        let given = try features(100)
        let waiting = (0..<8).map { _ in Task { try await model.prediction(from: given) } }
        try await until { tries.tried == [100] && model.limiter.snapshot.inFlight == 8 }
        tries.gate.signal()
        for task in waiting { _ = try await task.value }
        #expect(tries.tried == [100])
    }

    @Test(
        "a request that waits for the try of its shape ends when cancelled or at its deadline",
        .timeLimit(.minutes(2)))
    func whoWaitsForATryCanBeCancelledAndHasItsDeadline() async throws {
        let tries = Tries(slow: 100..<101)
        let (model, _) = try await load(tries)
        let (slow, other) = (try features(100), try features(2))
        let first = Task { try await model.prediction(from: slow) }
        try await until { tries.tried == [100] }
        let cancelled = Task { try await model.prediction(from: other) }
        var options = PredictionOptions()
        options.deadline = MonotonicInstant.now + .milliseconds(300)
        let late = Task { [options] in try await model.prediction(from: other, options: options) }
        try await until { model.limiter.snapshot.inFlight == 3 }
        cancelled.cancel()
        await #expect(throws: InferenceError.self) { try await cancelled.value }
        await #expect(throws: InferenceError.self) { try await late.value }
        #expect(tries.tried == [100])
        tries.gate.signal()
        _ = try await first.value
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    /// Only the open axis may have any extent, and no axis may be missing or added.
    @Test(
        "a shape that does not fit the model's fixed axes is refused without a try",
        arguments: [[4], [2, 2, 4], [2, 4, 1], [2, 3], [4, 5]])
    func shapesThatDoNotFitAreNotTried(_ shape: [Int]) async throws {
        let tries = Tries(slow: 0..<0)
        let (model, _) = try await load(tries)
        let count = shape.reduce(1, *)
        let array = try MultiArray(shape: Shape(shape), floats: [Float](repeating: 1, count: count))
        let error = await #expect(throws: InferenceError.self) {
            try await model.prediction(from: ["x": .multiArray(array)] as DictionaryFeatureProvider)
        }
        guard case .invalidInput(name: "x", let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason == "expected shape [-1,4], found \(Shape(shape))")
        #expect(tries.tried.isEmpty)
    }

    @Test("a shape that the model does not take is an invalid input each time, and is not remembered")
    func shapesThatAreRefusedAreTheCallersMistake() async throws {
        let tries = Tries(slow: 0..<0)
        let (model, _) = try await load(tries)
        for _ in 0..<2 {
            let error = await #expect(throws: InferenceError.self) { try await model.prediction(from: features(13)) }
            guard case .invalidInput(name: "x", let reason)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(reason == "the model does not take shape [13,4]: thirteen rows")
        }
        // A refused shape is not stored, because refused shapes have no limit.
        #expect(tries.tried == [13, 13])
        #expect(model.limiter.snapshot.inFlight == 0)
    }
}

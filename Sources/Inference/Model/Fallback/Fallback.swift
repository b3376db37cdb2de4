internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// Runs inputs that a model's engine refuses, although they may be valid, on the runtime of the file's own format.
///
/// The engine's refusals are kept by the shapes of the inputs. Later inputs of these shapes go straight to the runtime:
/// a second try would cost time, and an inference that fails may make the engine compile the model again. The runtime
/// reads the file when the first input is refused, and is released when it has not been used for a while.
package final class Fallback: Sendable {
    private struct Refusal {
        let error: EngineError
        /// The end of its validity; nil if it has none.
        let end: MonotonicInstant?
    }

    private struct State {
        /// By the shapes of the inputs with open axes, by the index of the input.
        var refusals: [[Int: Shape]: Refusal] = [:]
        /// The runtime, which may still be compiled; nil before the first use.
        var runtime: PendingLoad<Result<FallbackRuntime, EngineError>>?
        var isCompiling = false
        /// False once the runtime cannot run the file.
        var isUsable = true
        var hasReported = false
        /// A field of a structure, because a closure that a `Mutex` holds directly is wrapped again at each access.
        var tell: @Sendable (String) -> Void = { _ in }
    }

    private let recipe: FallbackRuntime.Recipe
    private let waiters: Int
    private let state = Mutex(State())
    /// True while refusals are kept: only then is the lock taken for every inference.
    private let hasRefusals = Atomic(false)
    /// The time of the last use, in nanoseconds of CLOCK_MONOTONIC.
    private let lastUse = Atomic<UInt64>(0)
    /// The number of runtimes of this process that are being compiled.
    private static let compiling = Atomic(0)

    /// The number of refusals at which all are discarded: a client may send other shapes each time.
    private static let maximum = 256
    /// The time for which inputs of fixed shape stay on the runtime. They are refused for their values, so that the
    /// engine takes most others.
    private static let timeOfValues = Duration.seconds(600)
    /// Nanoseconds after the last use until the runtime is released.
    private static let unused: UInt64 = 600_000_000_000

    /// - Parameter waiters: the maximum number of inferences that wait for the runtime: the model's number of slots.
    init(_ recipe: FallbackRuntime.Recipe, waiters: Int) {
        self.recipe = recipe
        self.waiters = waiters
    }

    /// The name and version of the runtime.
    var version: String { recipe.engine.version }

    /// True while a runtime is being compiled anywhere in this process.
    static var isCompiling: Bool { compiling.load(ordering: .relaxed) > 0 }

    /// Sets the receiver of the warning that the runtime has answered inputs which the engine refuses. The task that
    /// ran them calls it, at most once.
    package func listen(_ tell: @escaping @Sendable (String) -> Void) { state.withLock { $0.tell = tell } }

    // MARK: Refusals

    /// The error with which the engine has refused these shapes; nil if it must be asked.
    /// - Parameter shapes: by the index of the input; empty if all shapes are fixed.
    func refusal(of shapes: [Int: Shape]) -> EngineError? {
        guard hasRefusals.load(ordering: .relaxed) else { return nil }
        return state.withLock { state in
            guard let refusal = state.refusals[shapes] else { return nil }
            if let end = refusal.end, end <= .now {
                state.refusals[shapes] = nil
                return nil
            }
            return refusal.error
        }
    }

    /// Records an error of the engine.
    /// - Returns: true if the runtime must run the inputs; false if the error is the answer.
    func accepts(_ error: EngineError, of shapes: [Int: Shape]) -> Bool {
        switch error.kind {
        case .failure, .invalidInput:
            // Fixed shapes are refused for their values, which may be wrong for the runtime too.
            return shapes.isEmpty ? isUsable : keep(error, of: shapes, until: nil)
        case .doubtful: return isUsable
        case .invalidModel, .cancelled, .noThreads: return false
        }
    }

    private var isUsable: Bool { state.withLock { $0.isUsable } }

    @discardableResult
    private func keep(_ error: EngineError, of shapes: [Int: Shape], until end: MonotonicInstant?) -> Bool {
        state.withLock { state in
            guard state.isUsable else { return false }
            if state.refusals.count >= Self.maximum, state.refusals[shapes] == nil { state.refusals.removeAll() }
            state.refusals[shapes] = Refusal(error: error, end: end)
            hasRefusals.store(true, ordering: .relaxed)
            return true
        }
    }

    /// Records that the runtime has run inputs that the engine had refused, and reports the first ones.
    /// - Parameter isForValues: true if the engine takes other values of these shapes.
    func succeeded(_ shapes: [Int: Shape], after error: EngineError, isForValues: Bool) {
        if shapes.isEmpty, !isForValues, error.kind != .doubtful, refusal(of: shapes) == nil {
            keep(error, of: shapes, until: .now + Self.timeOfValues)
        }
        let tell = state.withLock { state in
            defer { state.hasReported = true }
            return state.hasReported ? nil : state.tell
        }
        guard let tell else { return }
        let inputs = shapes.sorted { $0.key < $1.key }.map(\.value.description).joined(separator: ", ")
        tell(
            "\(version) runs inputs that \(recipe.first) refuses, and has run one"
                + (inputs.isEmpty ? "" : " of shape \(inputs)") + ": \(error.detail)")
    }

    // MARK: The runtime

    /// Waits for the runtime, which is compiled if it is not ready. If all stop waiting, it is compiled all the same.
    /// - Parameter refusal: the error of the engine, which is the answer if the runtime cannot run the file.
    func runtime(
        after refusal: EngineError, until deadline: MonotonicInstant?
    ) async throws(InferenceError) -> FallbackRuntime {
        lastUse.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
        let (pending, isNew) = state.withLock { state in
            if let runtime = state.runtime { return (runtime, false) }
            let pending = PendingLoad<Result<FallbackRuntime, EngineError>>()
            state.runtime = pending
            state.isCompiling = true
            return (pending, true)
        }
        if isNew {
            Self.compiling.wrappingAdd(1, ordering: .relaxed)
            LoaderThread.start { [self] in pending.fulfil(compile()) }
        }
        switch try await pending.value(until: deadline) {
        case .success(let runtime): return runtime
        case .failure(let error): throw InferenceError(ofRun: error.kind == .noThreads ? error : refusal)
        }
    }

    /// Blocks.
    private func compile() -> Result<FallbackRuntime, EngineError> {
        defer { Self.compiling.wrappingSubtract(1, ordering: .relaxed) }
        let result = Result { () throws(EngineError) in try FallbackRuntime(recipe, waiters: waiters) }
        state.withLock { state in
            state.isCompiling = false
            guard case .failure(let error) = result else { return }
            state.runtime = nil
            guard error.kind != .noThreads else { return }
            state.isUsable = false
            state.refusals = [:]
            hasRefusals.store(false, ordering: .relaxed)
        }
        return result
    }

    /// Releases the runtime if it has not been used for a while. Inferences that are under way keep it until their end.
    func releaseUnused(at now: MonotonicInstant) {
        guard now.nanoseconds > lastUse.load(ordering: .relaxed) &+ Self.unused else { return }
        let released = state.withLock { state -> PendingLoad<Result<FallbackRuntime, EngineError>>? in
            guard !state.isCompiling else { return nil }
            defer { state.runtime = nil }
            return state.runtime
        }
        if let released { LoaderThread.release(released) }
    }
}

extension EngineError {
    /// The error for inputs that two engines refuse: this one, with the reason of the other one. If either of them is
    /// an invalid input, so is the result.
    /// - Parameter name: the name of the other engine.
    func joined(with other: EngineError, of name: String) -> EngineError {
        switch other.kind {
        case .cancelled, .noThreads: return other
        case .invalidModel, .invalidInput, .doubtful, .failure: break
        }
        let first = kind != .invalidInput && other.kind == .invalidInput ? other : self
        return EngineError(
            kind: first.kind, operation: first.operation,
            detail: detail == other.detail ? detail : "\(detail); \(name): \(other.detail)")
    }
}

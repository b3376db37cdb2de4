internal import COpenVINO
internal import EngineAPI
internal import SystemSupport

/// The engine's compiled model, with its threads.
final class OpenVINONetwork: Sendable {
    let handle: OpenVINOHandle
    /// True if the shape of anything within the model is known only when it runs. Only then a failed inference changes
    /// what others compute (``OpenVINOShapes``).
    let isDynamic: Bool
    private let state = Guarded(State())
    /// Last: given back when the rest is.
    private let threads: OpenVINOThreads

    private struct State {
        var hasFailed = false
        /// Infer requests that have ended without their status having been read, in the order in which they ended.
        var ended: [OpenVINOCallback] = []
        /// Statuses that were read before the request's owner asked.
        var outcomes: [ObjectIdentifier: Result<Void, EngineError>] = [:]
    }

    init(_ handle: OpenVINOHandle, isDynamic: Bool, threads: OpenVINOThreads) {
        self.handle = handle
        self.isDynamic = isDynamic
        self.threads = threads
    }

    /// False from when an inference has failed that may have left shapes behind.
    var isFit: Bool { state.withLock { !$0.hasFailed } }

    /// An inference has ended. Called on the engine's thread, before the owner of the request is told.
    func ended(_ request: OpenVINOCallback) {
        state.withLock { $0.ended.append(request) }
    }

    /// The outcome of an inference that has ended (``ended(_:)``). Once for each.
    ///
    /// The statuses of all inferences that ended before are read too, though their owners may not have run yet: an
    /// inference that succeeds on a stream where another one failed before it may have computed with that one's shapes.
    /// - Returns: the engine's error for the first failure, and ``EngineError/Kind/doubtful`` for every other
    ///   inference with an outcome that is read with it or after it.
    func outcome(of request: OpenVINOCallback) -> Result<Void, EngineError> {
        state.withLock { state in
            for request in state.ended {
                // A few microseconds at most: the engine calls back just before it marks the request as done.
                let outcome = Result { () throws(EngineError) in
                    try checked("run the inference") { ov_infer_request_wait(request.handle.pointer) }
                }
                let isFirst = !state.hasFailed
                if case .failure = outcome { state.hasFailed = true }
                state.outcomes[ObjectIdentifier(request)] =
                    state.hasFailed && !isFirst ? .failure(Self.doubtful) : outcome
            }
            state.ended.removeAll(keepingCapacity: true)
            let outcome = state.outcomes.removeValue(forKey: ObjectIdentifier(request)) ?? .success(())
            guard case .success = outcome, state.hasFailed else { return outcome }
            return .failure(Self.doubtful)
        }
    }

    private static let doubtful = EngineError(
        kind: .doubtful, operation: "run the inference",
        detail: "another inference of the model has failed meanwhile, and may have changed its answer")
}

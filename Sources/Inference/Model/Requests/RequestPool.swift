internal import FlowControl
internal import SystemSupport

/// The infer requests of a model: a prediction waits until one is free.
package final class RequestPool: Sendable {
    private let turns: InFlightLimiter
    private let idle: Guarded<[any InferRequest]>
    let count: Int
    /// The engine's threads, where these are for single-stream predictions; nil for all others.
    let singleStreamThreads: Int?

    /// Pipelines run models without a slot of theirs, a few crops at a time: no more than this.
    private static let mostOfPipelines = 65_536

    package init(_ requests: [any InferRequest], waiters: Int, singleStreamThreads: Int? = nil) {
        count = requests.count
        self.singleStreamThreads = singleStreamThreads
        idle = Guarded(requests)
        // Waiters here already hold a slot of the model's limiter, or of a pipeline's, which bounds the wait: this
        // queue never refuses.
        turns = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: requests.count, queueCapacity: max(waiters, 1) + Self.mostOfPipelines, maxWait: .seconds(86_400),
                policy: .defer))
    }

    /// A request for one inference; release it with ``PooledRequest/release()``.
    /// - Throws: when the task is cancelled or the deadline passes meanwhile.
    func acquire(deadline: MonotonicInstant?) async throws(AdmissionError) -> PooledRequest {
        let slot = try await turns.acquire(deadline: deadline)
        guard let request = idle.withLock({ $0.popLast() }) else {
            // Slots and idle requests are equal in number; the slot's end is all that is needed if they ever were not.
            slot.release()
            throw .cancelled
        }
        return PooledRequest(request: request, slot: slot, pool: self)
    }

    /// A request if one is free, without waiting.
    package func tryAcquire() -> PooledRequest? {
        guard let slot = turns.tryAcquire() else { return nil }
        guard let request = idle.withLock({ $0.popLast() }) else {
            // As above.
            slot.release()
            return nil
        }
        return PooledRequest(request: request, slot: slot, pool: self)
    }

    /// A request that belongs to its holder until it is released.
    package struct PooledRequest: Sendable {
        let request: any InferRequest
        fileprivate let slot: Slot
        fileprivate let pool: RequestPool

        /// The engine's threads of a single-stream prediction; nil for all others.
        var singleStreamThreads: Int? { pool.singleStreamThreads }

        /// Gives the request back.
        package func release() {
            pool.idle.withLock { $0.append(request) }
            slot.release()
        }
    }
}

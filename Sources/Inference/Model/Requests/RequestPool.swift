internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// The infer requests of a model: a prediction waits until one is free. A request is never used after its inference
/// failed again: a new one takes its place when it is needed.
package final class RequestPool: Sendable {
    private let turns: InFlightLimiter
    private let idle: Guarded<Idle>
    private let compiled: any CompiledModel
    let count: Int
    /// The engine's threads, where these are for single-stream predictions; nil for all others.
    let singleStreamThreads: Int?

    /// An infer request, and whether an inference on it has failed.
    fileprivate final class Entry: Sendable {
        let request: any InferRequest
        let hasFailed = Atomic(false)
        var isFit: Bool { !hasFailed.load(ordering: .relaxed) && request.isFit }

        init(_ request: any InferRequest) { self.request = request }
    }

    /// Entries, vacancies and lent requests are together ``RequestPool/count``.
    fileprivate struct Idle {
        var entries: [Entry]
        /// Requests that must be made before they are used.
        var vacancies = 0
        /// The end of making one, while one is made.
        var making: PendingLoad<EngineError?>?
    }

    /// Pipelines run models without a slot of theirs, a few crops at a time: no more than this.
    private static let mostOfPipelines = 65_536

    /// Makes infer requests of a compiled model.
    package init(
        _ compiled: any CompiledModel, count: Int, waiters: Int, singleStreamThreads: Int? = nil
    ) throws(EngineError) {
        self.compiled = compiled
        self.count = max(1, count)
        self.singleStreamThreads = singleStreamThreads
        var entries: [Entry] = []
        for _ in 0..<self.count { entries.append(Entry(try compiled.makeRequest())) }
        idle = Guarded(Idle(entries: entries))
        // Waiters here already hold a slot of the model's limiter, or of a pipeline's, which bounds the wait: this
        // queue never refuses.
        turns = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: self.count, queueCapacity: max(waiters, 1) + Self.mostOfPipelines, maxWait: .seconds(86_400),
                policy: .defer))
    }

    /// A request for one inference; release it with ``PooledRequest/release()``.
    /// - Throws: when the task is cancelled or the deadline passes meanwhile, or if one has to be made and cannot be.
    func acquire(deadline: MonotonicInstant?) async throws(InferenceError) -> PooledRequest {
        let slot: Slot
        do throws(AdmissionError) {
            slot = try await turns.acquire(deadline: deadline)
        } catch {
            throw InferenceError(ofQueue: error)
        }
        do throws(InferenceError) {
            while true {
                if let entry = take() { return PooledRequest(entry: entry, slot: slot, pool: self) }
                try await fillVacancy(until: deadline)
            }
        } catch {
            slot.release()
            throw error
        }
    }

    /// Makes a request for the pool: takes microseconds, or as long as compiling the model where a failure has left
    /// that unfit. Callers that come meanwhile wait for it too. If all stop waiting, the request is made all the same.
    private func fillVacancy(until deadline: MonotonicInstant?) async throws(InferenceError) {
        let (pending, isNew) = idle.withLock { idle in
            if let making = idle.making { return (making, false) }
            let making = PendingLoad<EngineError?>()
            idle.making = making
            return (making, true)
        }
        if isNew { LoaderThread.start { [self] in pending.fulfil(makeOne()) } }
        if let error = try await pending.value(until: deadline) { throw .engine(error) }
    }

    private func makeOne() -> EngineError? {
        let made = Result { () throws(EngineError) in Entry(try compiled.makeRequest()) }
        return idle.withLock { idle in
            idle.making = nil
            switch made {
            case .success(let entry):
                guard idle.vacancies > 0 else { return nil }
                idle.vacancies -= 1
                idle.entries.append(entry)
                return nil
            case .failure(let error): return error
            }
        }
    }

    /// A request if one is free and need not be made, without waiting.
    package func tryAcquire() -> PooledRequest? {
        guard let slot = turns.tryAcquire() else { return nil }
        guard let entry = take() else {
            slot.release()
            return nil
        }
        return PooledRequest(entry: entry, slot: slot, pool: self)
    }

    /// True if a free request must be made before it can be used.
    var hasVacancies: Bool { idle.withLock { $0.vacancies > 0 } }

    /// A fit request for the holder of a turn; nil if all that are idle must be made first.
    private func take() -> Entry? {
        let (entry, unfit) = idle.withLock { idle -> (Entry?, [Entry]) in
            var unfit: [Entry] = []
            while let last = idle.entries.popLast() {
                if last.isFit { return (last, unfit) }
                unfit.append(last)
                idle.vacancies += 1
            }
            return (nil, unfit)
        }
        if !unfit.isEmpty { LoaderThread.release(unfit) }
        return entry
    }

    private func giveBack(_ entry: Entry) {
        let isFit = entry.isFit
        idle.withLock { if isFit { $0.entries.append(entry) } else { $0.vacancies += 1 } }
    }

    /// A request that belongs to its holder until it is released.
    package struct PooledRequest: Sendable {
        fileprivate let entry: Entry
        fileprivate let slot: Slot
        fileprivate let pool: RequestPool

        var request: any InferRequest { entry.request }

        /// The engine's threads of a single-stream prediction; nil for all others.
        var singleStreamThreads: Int? { pool.singleStreamThreads }

        /// Runs an inference (``InferRequest/run(deadline:)``).
        func run(deadline: MonotonicInstant?) async throws(EngineError) {
            do throws(EngineError) { try await request.run(deadline: deadline) } catch { throw noted(error) }
        }

        /// Runs the model on made-up values (``InferRequest/runAnything()``).
        func runAnything() async throws(EngineError) {
            do throws(EngineError) { try await request.runAnything() } catch { throw noted(error) }
        }

        private func noted(_ error: EngineError) -> EngineError {
            if error.kind != .cancelled { entry.hasFailed.store(true, ordering: .relaxed) }
            return error
        }

        /// Gives the request back.
        package func release() {
            pool.giveBack(entry)
            slot.release()
        }
    }
}

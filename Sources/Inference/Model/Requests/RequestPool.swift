internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// The infer requests of a model: a prediction waits until one is free. A request whose inference has failed is not
/// used again; a new one is created when it is needed.
package final class RequestPool: Sendable {
    private let turns: InFlightLimiter
    private let idle: Guarded<Idle>
    private let compiled: any CompiledModel
    let count: Int
    /// The number of the engine's threads for single-stream predictions; nil for other pools.
    let singleStreamThreads: Int?

    /// An infer request, and whether an inference on it has failed.
    fileprivate final class Entry: Sendable {
        let request: any InferRequest
        let hasFailed = Atomic(false)
        var isFit: Bool { !hasFailed.load(ordering: .relaxed) && request.isFit }

        init(_ request: any InferRequest) { self.request = request }
    }

    /// The free requests. Entries, vacancies and lent requests together equal ``RequestPool/count``.
    fileprivate struct Idle {
        var entries: [Entry]
        /// The number of requests to create.
        var vacancies = 0
        /// The creation of a request, while it lasts; its value is the error, nil for success.
        var making: PendingLoad<EngineError?>?
    }

    /// Additional places for pipelines, which run models without a slot of those models, a few crops at a time.
    private static let maximumForPipelines = 65_536

    /// Creates infer requests of a compiled model.
    package init(
        _ compiled: any CompiledModel, count: Int, waiters: Int, singleStreamThreads: Int? = nil
    ) throws(EngineError) {
        self.compiled = compiled
        self.count = max(1, count)
        self.singleStreamThreads = singleStreamThreads
        var entries: [Entry] = []
        for _ in 0..<self.count { entries.append(Entry(try compiled.makeRequest())) }
        idle = Guarded(Idle(entries: entries))
        // Waiters already hold a slot of the model's limiter, or of a pipeline's, which bounds the wait: this queue
        // never refuses.
        turns = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: self.count, queueCapacity: max(waiters, 1) + Self.maximumForPipelines, maxWait: .seconds(86_400),
                policy: .defer))
    }

    /// Takes a request for one inference; release it with ``PooledRequest/release()``.
    /// - Throws: if the task is cancelled or the deadline passes during the wait, or if a request must be created and
    ///   that fails.
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

    /// Creates a request for the pool: takes microseconds, or as long as compiling the model if a failure has made the
    /// compiled model unusable. Concurrent callers wait for the same request. If all stop waiting, it is created all
    /// the same.
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

    /// Takes a free request without waiting; nil if no request is free, or it would have to be created.
    package func tryAcquire() -> PooledRequest? {
        guard let slot = turns.tryAcquire() else { return nil }
        guard let entry = take() else {
            slot.release()
            return nil
        }
        return PooledRequest(entry: entry, slot: slot, pool: self)
    }

    /// True if a free request must be created before it can be used.
    var hasVacancies: Bool { idle.withLock { $0.vacancies > 0 } }

    /// Takes a usable request for the holder of a turn; nil if one must be created first.
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

    /// A request that its holder may use until it is released.
    package struct PooledRequest: Sendable {
        fileprivate let entry: Entry
        fileprivate let slot: Slot
        fileprivate let pool: RequestPool

        var request: any InferRequest { entry.request }

        /// The number of the engine's threads for a single-stream prediction; nil for other predictions.
        var singleStreamThreads: Int? { pool.singleStreamThreads }

        /// Runs an inference (``InferRequest/run(deadline:)``).
        func run(deadline: MonotonicInstant?) async throws(EngineError) {
            do throws(EngineError) { try await request.run(deadline: deadline) } catch { throw noted(error) }
        }

        /// Runs the model on arbitrary values (``InferRequest/runAnything()``).
        func runAnything() async throws(EngineError) {
            do throws(EngineError) { try await request.runAnything() } catch { throw noted(error) }
        }

        private func noted(_ error: EngineError) -> EngineError {
            if error.kind != .cancelled { entry.hasFailed.store(true, ordering: .relaxed) }
            return error
        }

        /// Returns the request to the pool, without its outputs.
        package func release() {
            entry.request.releaseOutputs()
            pool.giveBack(entry)
            slot.release()
        }
    }
}

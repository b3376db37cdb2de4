internal import FlowControl
internal import Synchronization
package import SystemSupport

/// Single-stream predictions: those that enter the engine while no other prediction runs.
extension Model {
    /// The state of the variant for single-stream predictions; nil for a model without one.
    public var singleStreamReport: SingleStreamReport? { singleStream.report }

    /// True while a variant, or the runtime for inputs that an engine refuses, is being compiled anywhere in this
    /// process: exit(3) would destroy objects that the engine still uses.
    package static var isCompilingForRequests: Bool { compiling.load(ordering: .relaxed) > 0 || Fallback.isCompiling }
    private static let compiling = Atomic<Int>(0)
    /// Compiles one variant at a time, because each compilation uses all processors.
    private static let gate = LoadGate(limit: 1)

    /// Takes an infer request: the variant's if no other prediction is under way, otherwise the next of the pool. A
    /// prediction keeps the variant's threads for its whole inference, even if others begin meanwhile.
    func takeRequest(until deadline: MonotonicInstant?) async throws(InferenceError) -> RequestPool.PooledRequest {
        if RunningPredictions.isOne, let pooled = singleStream.takeRequest() { return pooled }
        return try await requests.acquire(deadline: deadline)
    }

    /// Records a prediction. If the variant is now worth its memory, compiles it in the background while requests
    /// continue.
    /// - Parameter alone: whether no other prediction was under way when the inference began.
    func considerSingleStream(_ times: StageTimes, alone: Bool) {
        guard
            let recipe = singleStream.ran(
                alone: alone && RunningPredictions.isOne, inference: times.inference,
                onVariant: times.singleStreamThreads != nil)
        else { return }
        Task.detached { await self.compileForSingleStream(recipe) }
    }

    /// Compiles the single-stream variant now, if the policy allows one and it is not compiled yet. For measurements.
    package func prepareForSingleStream() async {
        guard let recipe = singleStream.begin() else { return }
        await compileForSingleStream(recipe)
    }

    /// Releases the variant and the runtime for inputs that the engine refuses, each if it was not used for a while.
    package func releaseUnusedVariant(at now: MonotonicInstant = .now) {
        singleStream.releaseUnused(at: now)
        fallback?.releaseUnused(at: now)
    }

    private func compileForSingleStream(_ recipe: SingleStreamVariant.Recipe) async {
        Self.compiling.wrappingAdd(1, ordering: .relaxed)
        defer { Self.compiling.wrappingSubtract(1, ordering: .relaxed) }
        await Self.gate.run(Self.gate.arrive(LoadCost())) {
            let start = MonotonicInstant.now
            let before = Process.residentBytes
            // Low priority, because the client that caused the compilation sends its next request meanwhile.
            let compiled = await LoaderThread.run {
                LowPriority.run { Result { () throws(EngineError) in try SingleStreamVariant(recipe) } }
            }
            let result = await self.warmUp(compiled)
            let after = Process.residentBytes
            let growth = before.flatMap { before in after.map { max(0, $0 - before) } }
            self.singleStream.finish(
                result, load: MonotonicInstant.now.nanoseconds(since: start), residentBytes: growth)
        }
    }

    /// Runs the variant once, so that work which an engine defers to the first inference is done before clients wait
    /// for it.
    private func warmUp(_ compiled: Result<SingleStreamVariant, EngineError>) async -> Result<
        SingleStreamVariant, EngineError
    > {
        guard plan.hasZeros, case .success(let variant) = compiled, let pooled = variant.requests.tryAcquire() else {
            return compiled
        }
        defer { pooled.release() }
        do throws(EngineError) {
            let filled = try tensors.take()
            defer { tensors.giveBack(filled) }
            for tensor in filled.tensors { tensor.zero() }
            try setInputs(of: pooled.request, to: filled.tensors)
            try await pooled.runAnything()
            return compiled
        } catch {
            return .failure(error)
        }
    }
}

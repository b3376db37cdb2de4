internal import Synchronization
internal import SystemSupport

/// Holds a model's variant for single-stream predictions. The variant takes about as much memory as the model, so it is
/// compiled only when single-stream predictions occur; loading a model does not wait for it.
package final class SingleStreamSlot: Sendable {
    private struct State {
        var variant: SingleStreamVariant?
        var choice = SingleStreamChoice()
        /// The earliest time when the variant may be compiled again, in nanoseconds of CLOCK_MONOTONIC.
        var notBefore: UInt64 = 0
        var report = SingleStreamReport()
        /// A field of a structure, because a closure that a `Guarded` holds directly is wrapped again at each access.
        var tell: @Sendable (SingleStreamReport) -> Void = { _ in }
    }

    private let state: Guarded<State>
    private let recipe: SingleStreamVariant.Recipe?
    private let conditions: SingleStreamPolicy.VariantConditions
    private let predictions = Atomic<UInt64>(0)
    /// The number of single-stream predictions since the last other one.
    private let consecutive = Atomic<Int>(0)
    /// The time when the variant was last the faster alternative, in nanoseconds of CLOCK_MONOTONIC.
    private let lastUse = Atomic<UInt64>(0)

    /// - Parameter recipe: nil for a model that has no variant.
    init(_ recipe: SingleStreamVariant.Recipe?, conditions: SingleStreamPolicy.VariantConditions) {
        self.recipe = recipe
        self.conditions = conditions
        var state = State()
        state.report.threads = recipe?.options.threads ?? 0
        self.state = Guarded(state)
    }

    /// The state of the variant; nil for a model that has no variant.
    var report: SingleStreamReport? {
        guard recipe != nil else { return nil }
        var report = state.withLock { $0.report }
        report.predictions = predictions.load(ordering: .relaxed)
        return report
    }

    /// Sets the closure that is called when the variant has been compiled, compiling it has failed, or it was released.
    package func whenChanged(_ tell: @escaping @Sendable (SingleStreamReport) -> Void) {
        state.withLock { $0.tell = tell }
    }

    /// The variant's infer request for a single-stream prediction, if the variant is chosen and the request is free;
    /// otherwise nil.
    func takeRequest() -> RequestPool.PooledRequest? {
        guard recipe != nil, consecutive.load(ordering: .relaxed) >= conditions.before else { return nil }
        let (variant, wins) = state.withLock { state -> (SingleStreamVariant?, Bool) in
            guard let variant = state.variant, !conditions.mustWin || state.choice.next() else { return (nil, false) }
            return (variant, state.choice.variantWins)
        }
        guard let variant else { return nil }
        guard let pooled = variant.requests.tryAcquire() else {
            // An inference on the request has failed: release the variant; it is compiled again when single-stream
            // predictions continue.
            if variant.requests.hasVacancies { drop(variant) }
            return nil
        }
        predictions.wrappingAdd(1, ordering: .relaxed)
        if wins { lastUse.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed) }
        return pooled
    }

    /// Records a prediction.
    /// - Parameters:
    ///   - alone: whether no other prediction was under way, at the start of the inference and at its end.
    ///   - inference: nanoseconds in the engine.
    ///   - onVariant: whether it used the variant's request.
    /// - Returns: the recipe to compile now, if the variant has become worth its memory; otherwise nil.
    func ran(alone: Bool, inference: UInt64, onVariant: Bool) -> SingleStreamVariant.Recipe? {
        guard recipe != nil else { return nil }
        guard alone else {
            consecutive.store(0, ordering: .relaxed)
            return nil
        }
        if conditions.mustWin { state.withLock { $0.choice.record(inference, onVariant: onVariant) } }
        let count = consecutive.wrappingAdd(1, ordering: .relaxed).newValue
        return count >= conditions.consecutive && inference >= conditions.inference
            ? begin(maximumResident: conditions.maximumResident) : nil
    }

    /// Begins a compilation, and returns its recipe; nil if one was begun before, or it must not be tried again yet, or
    /// the resident memory exceeds `maximumResident` bytes.
    func begin(maximumResident: Int = .max) -> SingleStreamVariant.Recipe? {
        state.withLock { state in
            let now = MonotonicInstant.now.nanoseconds
            guard recipe != nil, state.report.state == .notCompiled, now >= state.notBefore else { return nil }
            if maximumResident < .max, (Process.residentBytes ?? .max) > maximumResident {
                // Check again in a minute.
                state.notBefore = now &+ 60_000_000_000
                return nil
            }
            state.report.state = .compiling
            return recipe
        }
    }

    /// Stores the result of the compilation that ``begin()`` began.
    func finish(_ result: Result<SingleStreamVariant, EngineError>, load: UInt64, residentBytes: Int?) {
        lastUse.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
        change { state in
            switch result {
            case .success(let variant):
                state.variant = variant
                state.report.state = .ready
                state.report.threads = variant.threads
                state.report.isCached = variant.compiled.loadedFromCache
                state.report.load = load
                state.report.residentBytes = residentBytes
            case .failure(let error): state.report.state = .failed(reason: error.message)
            }
        }
    }

    /// Releases the variant if it was not used, or was not the faster alternative, for the time of the policy. It is
    /// compiled again for later single-stream predictions; if it was slower, not before an hour has passed.
    func releaseUnused(at now: MonotonicInstant) {
        guard let unused = conditions.unused, let variant = state.withLock({ $0.variant }),
            now.nanoseconds > lastUse.load(ordering: .relaxed) &+ unused
        else { return }
        drop(variant) { state in
            if !state.choice.variantWins { state.notBefore = now.nanoseconds &+ Self.recompileInterval }
        }
    }

    private func drop(_ variant: SingleStreamVariant, _ note: (inout State) -> Void = { _ in }) {
        consecutive.store(0, ordering: .relaxed)
        change { state in
            guard state.variant?.requests === variant.requests else { return }
            note(&state)
            state.choice = SingleStreamChoice()
            state.variant = nil
            state.report.state = .notCompiled
        }
        // Release it outside of the lock, because an engine takes time for it. A prediction that runs on the variant
        // keeps it until its end.
        withExtendedLifetime(variant) {}
    }

    /// Nanoseconds before a variant that was slower may be compiled again.
    private static let recompileInterval: UInt64 = 3_600_000_000_000

    private func change(_ body: (inout State) -> Void) {
        let (report, tell) = state.withLock { state in
            body(&state)
            return (state.report, state.tell)
        }
        tell(report)
    }
}

/// Counts the predictions of all models that are under way in this process, from their slot to their answer.
enum RunningPredictions {
    private static let count = Atomic<Int>(0)

    static func begin() { count.wrappingAdd(1, ordering: .relaxed) }
    static func end() { count.wrappingSubtract(1, ordering: .relaxed) }

    /// True if the caller's prediction is the only one.
    static var isOne: Bool { number == 1 }

    /// The number of predictions under way.
    static var number: Int { count.load(ordering: .relaxed) }
}

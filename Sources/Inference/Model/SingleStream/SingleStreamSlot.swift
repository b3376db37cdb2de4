internal import Synchronization
internal import SystemSupport

/// The place of a model's variant for single-stream predictions. The variant takes about as much memory as the model,
/// so it is there only where single-stream predictions come: no start waits for it.
final class SingleStreamSlot: Sendable {
    private struct State {
        var variant: SingleStreamVariant?
        var choice = SingleStreamChoice()
        /// The time when the variant may be compiled again, on CLOCK_MONOTONIC.
        var notBefore: UInt64 = 0
        var report = SingleStreamReport()
        /// A structure's field, for a closure that is itself what a `Guarded` holds is wrapped again at each use.
        var tell: @Sendable (SingleStreamReport) -> Void = { _ in }
    }

    private let state: Guarded<State>
    private let recipe: SingleStreamVariant.Recipe?
    private let worth: SingleStreamPolicy.Worth
    private let predictions = Atomic<UInt64>(0)
    /// Single-stream predictions since the last other one.
    private let inARow = Atomic<Int>(0)
    /// The time when the variant was last the better way for a single-stream prediction, on CLOCK_MONOTONIC.
    private let lastUse = Atomic<UInt64>(0)

    /// - Parameter recipe: nil for a model that needs no variant.
    init(_ recipe: SingleStreamVariant.Recipe?, worth: SingleStreamPolicy.Worth) {
        self.recipe = recipe
        self.worth = worth
        var state = State()
        state.report.threads = recipe?.options.threads ?? 0
        self.state = Guarded(state)
    }

    /// The state of the variant; nil for a model that needs none.
    var report: SingleStreamReport? {
        guard recipe != nil else { return nil }
        var report = state.withLock { $0.report }
        report.predictions = predictions.load(ordering: .relaxed)
        return report
    }

    /// From now on `tell` is called when the variant has been compiled, could not be, or was released.
    func whenChanged(_ tell: @escaping @Sendable (SingleStreamReport) -> Void) { state.withLock { $0.tell = tell } }

    /// The variant's infer request for a single-stream prediction, where that is the better way and the request is
    /// free.
    func takeRequest() -> RequestPool.PooledRequest? {
        guard recipe != nil, inARow.load(ordering: .relaxed) >= worth.before else { return nil }
        let (variant, wins) = state.withLock { state -> (SingleStreamVariant?, Bool) in
            guard let variant = state.variant, !worth.mustWin || state.choice.next() else { return (nil, false) }
            return (variant, state.choice.variantWins)
        }
        guard let variant else { return nil }
        guard let pooled = variant.requests.tryAcquire() else {
            // An inference on it has failed: it is compiled again when single-stream predictions come.
            if variant.requests.hasVacancies { drop(variant) }
            return nil
        }
        predictions.wrappingAdd(1, ordering: .relaxed)
        if wins { lastUse.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed) }
        return pooled
    }

    /// A prediction has run.
    /// - Parameters:
    ///   - alone: whether nothing else was under way, at the beginning of the inference and at its end.
    ///   - inference: nanoseconds in the engine.
    ///   - onVariant: whether it had the variant's request.
    /// - Returns: what to compile now: where it was a single-stream one, and the variant would be of use.
    func ran(alone: Bool, inference: UInt64, onVariant: Bool) -> SingleStreamVariant.Recipe? {
        guard recipe != nil else { return nil }
        guard alone else {
            inARow.store(0, ordering: .relaxed)
            return nil
        }
        if worth.mustWin { state.withLock { $0.choice.record(inference, onVariant: onVariant) } }
        let count = inARow.wrappingAdd(1, ordering: .relaxed).newValue
        return count >= worth.inARow && inference >= worth.inference ? begin(mostResident: worth.mostResident) : nil
    }

    /// Begins a compilation, and returns its recipe; nil if that has been done, or tried, or the process has more bytes
    /// in memory.
    func begin(mostResident: Int = .max) -> SingleStreamVariant.Recipe? {
        state.withLock { state in
            let now = MonotonicInstant.now.nanoseconds
            guard recipe != nil, state.report.state == .notCompiled, now >= state.notBefore else { return nil }
            if mostResident < .max, (Process.residentBytes ?? .max) > mostResident {
                // Looked at again in a minute.
                state.notBefore = now &+ 60_000_000_000
                return nil
            }
            state.report.state = .compiling
            return recipe
        }
    }

    /// The end of what ``begin()`` began.
    func settle(_ result: Result<SingleStreamVariant, EngineError>, load: UInt64, residentBytes: Int?) {
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

    /// Releases the variant if for long enough no single-stream prediction has come, or it was not the better way for
    /// them. It is compiled again when they come, or after an hour.
    func releaseUnused(at now: MonotonicInstant) {
        guard let unused = worth.unused, let variant = state.withLock({ $0.variant }),
            now.nanoseconds > lastUse.load(ordering: .relaxed) &+ unused
        else { return }
        drop(variant) { state in
            if !state.choice.variantWins { state.notBefore = now.nanoseconds &+ Self.respite }
        }
    }

    private func drop(_ variant: SingleStreamVariant, _ note: (inout State) -> Void = { _ in }) {
        inARow.store(0, ordering: .relaxed)
        change { state in
            guard state.variant?.requests === variant.requests else { return }
            note(&state)
            state.choice = SingleStreamChoice()
            state.variant = nil
            state.report.state = .notCompiled
        }
        // Not under the lock: an engine takes its time. A prediction that runs on it keeps it until its end.
        withExtendedLifetime(variant) {}
    }

    /// Nanoseconds before a variant that did not help is compiled again.
    private static let respite: UInt64 = 3_600_000_000_000

    private func change(_ body: (inout State) -> Void) {
        let (report, tell) = state.withLock { state in
            body(&state)
            return (state.report, state.tell)
        }
        tell(report)
    }
}

/// The predictions that this process works on, those of all models together: from their slot to their answer.
enum PredictionsUnderWay {
    private static let count = Atomic<Int>(0)

    static func begin() { count.wrappingAdd(1, ordering: .relaxed) }
    static func end() { count.wrappingSubtract(1, ordering: .relaxed) }

    /// True if the caller's prediction is the only one.
    static var isOne: Bool { number == 1 }

    /// The predictions that are under way.
    static var number: Int { count.load(ordering: .relaxed) }
}

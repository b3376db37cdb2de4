internal import Synchronization
public import SystemSupport

/// Limits the number of requests in flight; others wait in a queue or are refused.
///
/// ```swift
/// let slot = try await limiter.acquire(deadline: .now + .seconds(1))
/// defer { slot.release() }
/// ```
///
/// A request takes a slot before it uses resources (before its picture is decoded) and releases it when it no longer
/// uses any. All methods may be called from any thread; none blocks except for the lock, which is held for well
/// under a microsecond and never while other code runs.
///
/// `LimiterStateMachine` makes every decision. This class has the lock, the suspended tasks, which are
/// resumed outside the lock, and one timer.
///
/// The timer is one task that sleeps until the earliest expiry of any waiter, and not one task per waiter: a request
/// that waits costs its continuation and nothing else. It holds the limiter weakly and is cancelled with it.
public final class InFlightLimiter: Sendable {
    private typealias Waiter = CheckedContinuation<WaitOutcome, Never>

    private struct State {
        var machine: LimiterStateMachine<Waiter>
        var timer: Task<Void, Never>?
        /// The epoch that `timer` was requested with.
        var timerEpoch: UInt64 = 0
        var drainWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var drainWaiterCount: UInt64 = 0
    }

    /// Not a `Mutex`: where threads meet, that one is handed to who waits longest, who has to be woken first, and all
    /// others find it taken meanwhile (Benchmarks/contention).
    private let state: Guarded<State>
    private let clock: MonotonicClock
    /// True if any request would get a slot now. Written with the lock held, and read without it.
    private let isOpen = Atomic(true)

    /// A limiter with these limits.
    public init(configuration: LimiterConfiguration, clock: MonotonicClock = .system) {
        self.clock = clock
        state = Guarded(State(machine: LimiterStateMachine(configuration: configuration)))
    }

    deinit {
        state.withLock { $0.timer?.cancel() }
    }

    // MARK: Slots

    /// Returns a slot: at once if one is free, otherwise after a wait, according to the policy.
    ///
    /// - Parameters:
    ///   - deadline: the time of the answer. The wait ends at this time. It does not begin if the predicted wait and
    ///     the recent time for which slots are held do not fit before it.
    ///   - claim: who asks, and for how much work: slots are shared among clients by the time that they hold them.
    /// - Throws: the reason for the refusal. Cancelling the calling task ends the wait, in O(1); a task that is
    ///   cancelled in the moment in which it gets a slot may get it.
    public nonisolated(nonsending) func acquire(
        deadline: MonotonicInstant? = nil, claim: Claim = .usual
    ) async throws(AdmissionError) -> Slot {
        if Task.isCancelled {
            state.withLock { $0.machine.arriveCancelled() }
            throw .cancelled
        }
        let now = clock.now()
        let (arrival, effects) = state.withLock { state in
            defer { publish(state.machine.isOpen) }
            return state.machine.arrive(at: now, deadline: deadline, claim: claim)
        }
        perform(effects)
        switch arrival {
        case .admitted(let grant): return Slot(limiter: self, grant: grant)
        case .refused(let error): throw error
        case .waiting(let ticket): return Slot(limiter: self, grant: try await wait(ticket).get())
        }
    }

    /// Returns a slot if one is free, without waiting. A refusal is not counted.
    public func tryAcquire() -> Slot? {
        let now = clock.now()
        let grant = state.withLock { state in
            defer { publish(state.machine.isOpen) }
            return state.machine.tryArrive(at: now)
        }
        guard let grant else { return nil }
        return Slot(limiter: self, grant: grant)
    }

    /// To be called when the head of a request has arrived: the reason to refuse it before its body is sent, or nil if
    /// `acquire` would return a slot or wait. A refusal is counted; otherwise `acquire` counts the request later.
    public func announce(deadline: MonotonicInstant? = nil, claim: Claim = .usual) -> AdmissionError? {
        // While there are slots for all, nobody waits: there is nothing to decide or to change, and the lock is left
        // to those who take slots and give them back.
        if isOpen.load(ordering: .relaxed), deadline.map({ clock.now() < $0 }) ?? true { return nil }
        let now = clock.now()
        let (refusal, effects) = state.withLock { $0.machine.announce(at: now, deadline: deadline, claim: claim) }
        perform(effects)
        return refusal
    }

    /// Counts work that a client had done without a slot of this limiter: its turn comes so much later.
    package func charge(_ claim: Claim, nanoseconds: UInt64) {
        state.withLock { $0.machine.charge(claim, nanoseconds: nanoseconds) }
    }

    private nonisolated(nonsending) func wait(_ ticket: WaiterTicket) async -> WaitOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The slot, a refusal or the cancellation may have come since the lock was released: then there is an
                // outcome, and no other code has seen the continuation.
                if let outcome = state.withLock({ $0.machine.suspend(ticket, as: continuation) }) {
                    continuation.resume(returning: outcome)
                }
            }
        } onCancel: {
            let now = clock.now()
            perform(state.withLock { $0.machine.cancel(ticket, at: now) })
        }
    }

    /// A slot comes back.
    func finish(_ grant: Grant) {
        let now = clock.now()
        let effects = state.withLock { state in
            defer { publish(state.machine.isOpen) }
            return state.machine.finish(grant, at: now)
        }
        perform(effects)
    }

    /// To be called with the lock held, after each event that takes slots, gives them back or changes who gets them.
    private func publish(_ isOpen: Bool) {
        if self.isOpen.load(ordering: .relaxed) != isOpen { self.isOpen.store(isOpen, ordering: .relaxed) }
    }

    // MARK: Bounds

    /// Changes the given limits. Additional slots go to waiters at once; a lower limit takes effect when slots are
    /// released. Waiters beyond a smaller queue are displaced; a new maximum wait applies to later requests.
    public func resize(
        limit: Int? = nil, queueCapacity: Int? = nil, maxWait: Duration? = nil, policy: OverloadPolicy? = nil,
        overloadTarget: Duration? = nil
    ) {
        let now = clock.now()
        let effects = state.withLock { state in
            defer { publish(state.machine.isOpen) }
            let old = state.machine.configuration
            let new = LimiterConfiguration(
                limit: limit ?? old.limit,
                queueCapacity: queueCapacity ?? old.queueCapacity,
                maxWait: maxWait ?? old.maxWait,
                policy: policy ?? old.policy,
                expectedServiceTime: old.expectedServiceTime,
                overloadTarget: overloadTarget ?? old.overloadTarget)
            return state.machine.resize(to: new, at: now)
        }
        perform(effects)
    }

    /// The limiter at this moment.
    public var snapshot: LimiterSnapshot {
        let now = clock.now()
        return state.withLock { state in
            LimiterSnapshot(
                inFlight: state.machine.inFlight,
                waiting: state.machine.waiting,
                configuration: state.machine.configuration,
                isDraining: state.machine.isDraining,
                isOverloaded: state.machine.isOverloaded,
                counters: state.machine.counters,
                serviceTime: state.machine.serviceTime,
                predictedWait: state.machine.predictedWait(at: now))
        }
    }

    // MARK: Draining

    /// Refuses new requests from now on. Waiting requests get their slots, unless `refusingWaiters` is true;
    /// a second call may set it later.
    public func beginDraining(refusingWaiters: Bool = false) {
        let now = clock.now()
        let effects = state.withLock { state in
            defer { publish(state.machine.isOpen) }
            return state.machine.beginDraining(refusingWaiters: refusingWaiters, at: now)
        }
        perform(effects)
    }

    /// Returns when draining has begun and the last slot was released, or when the calling task is cancelled.
    public nonisolated(nonsending) func drained() async {
        let id = state.withLock { state in
            state.drainWaiterCount &+= 1
            return state.drainWaiterCount
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // Looked at under the lock: a cancellation before this line shows here, one after it finds the
                    // continuation in the dictionary.
                    if state.machine.isDrained || Task.isCancelled { return true }
                    state.drainWaiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.drainWaiters.removeValue(forKey: id) }?.resume()
        }
    }

    // MARK: Effects

    private func perform(_ effects: LimiterEffects<Waiter>) {
        for (waiter, outcome) in effects.resume { waiter.resume(returning: outcome) }
        if let request = effects.timer { start(request) }
        if effects.drained {
            let waiters = state.withLock { state in
                defer { state.drainWaiters = [:] }
                return state.drainWaiters.values
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// Starts the timer asked for, and stops the one before it.
    private func start(_ request: TimerRequest) {
        // Detached, so that it keeps nothing of the request alive that happened to ask for it (its task-local values).
        let task = Task.detached(priority: .high) { [weak self, clock] in
            guard (try? await clock.sleep(request.at)) != nil else { return }
            self?.timerFired(request.epoch)
        }
        // The epochs of two requests may get here in the wrong order: the later one stays.
        let obsolete: Task<Void, Never>? = state.withLock { state in
            guard request.epoch > state.timerEpoch else { return task }
            defer { state.timer = task }
            state.timerEpoch = request.epoch
            return state.timer
        }
        obsolete?.cancel()
    }

    private func timerFired(_ epoch: UInt64) {
        let now = clock.now()
        perform(state.withLock { $0.machine.timerFired(epoch: epoch, at: now) })
    }
}

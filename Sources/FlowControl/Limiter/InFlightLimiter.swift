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
/// uses any. All methods may be called from any thread. They block only for the lock, which is held for well under a
/// microsecond and never while other code runs.
///
/// `LimiterStateMachine` makes all decisions. This class has the lock, the suspended tasks, which are resumed outside
/// the lock, and one timer.
///
/// The timer is a single task that sleeps until the earliest expiry of any waiter, so a waiting request costs only its
/// continuation. It holds the limiter weakly and is cancelled with it.
public final class InFlightLimiter: Sendable {
    private typealias Waiter = CheckedContinuation<WaitOutcome, Never>

    private struct State {
        var machine: LimiterStateMachine<Waiter>
        var timer: Task<Void, Never>?
        /// The epoch of the request for `timer`.
        var timerEpoch: UInt64 = 0
        var drainWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var drainWaiterCount: UInt64 = 0
    }

    /// Not a `Mutex`: under contention, that one is handed to the thread that waited longest, which must be woken
    /// first, and meanwhile all others find it taken (Benchmarks/results).
    private let state: Guarded<State>
    private let clock: MonotonicClock
    /// True if any request would get a slot now. Written with the lock held, read without it.
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
    ///   - deadline: the time of the answer. The wait ends at this time. It does not begin if the predicted wait plus
    ///     the recent time for which slots are held would exceed it.
    ///   - claim: the client and the expected work: slots are shared among clients by the time for which they hold
    ///     them.
    /// - Throws: the reason for the refusal. Cancelling the calling task ends the wait, in O(1); a task cancelled at
    ///   the moment when it gets a slot may get it.
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

    /// Checks a request whose head has arrived: returns the reason to refuse it before its body is sent, or nil if
    /// `acquire` would return a slot or wait. A refusal is counted; otherwise `acquire` counts the request later.
    public func announce(deadline: MonotonicInstant? = nil, claim: Claim = .usual) -> AdmissionError? {
        // While slots are free, no request waits and there is no decision to make: leave the lock to requests that take
        // or release slots.
        if isOpen.load(ordering: .relaxed), deadline.map({ clock.now() < $0 }) ?? true { return nil }
        let now = clock.now()
        let (refusal, effects) = state.withLock { $0.machine.announce(at: now, deadline: deadline, claim: claim) }
        perform(effects)
        return refusal
    }

    /// Charges a client for work that it had done without a slot of this limiter: its next turn comes later by that
    /// time.
    package func charge(_ claim: Claim, nanoseconds: UInt64) {
        state.withLock { $0.machine.charge(claim, nanoseconds: nanoseconds) }
    }

    private nonisolated(nonsending) func wait(_ ticket: WaiterTicket) async -> WaitOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A slot, a refusal or a cancellation may have occurred since the lock was released: then there is an
                // outcome, and no other code has the continuation.
                if let outcome = state.withLock({ $0.machine.suspend(ticket, as: continuation) }) {
                    continuation.resume(returning: outcome)
                }
            }
        } onCancel: {
            let now = clock.now()
            perform(state.withLock { $0.machine.cancel(ticket, at: now) })
        }
    }

    /// Releases a slot.
    func finish(_ grant: Grant) {
        let now = clock.now()
        let effects = state.withLock { state in
            defer { publish(state.machine.isOpen) }
            return state.machine.finish(grant, at: now)
        }
        perform(effects)
    }

    /// Publishes `isOpen`. Call it with the lock held, after each event that takes or releases slots, or changes which
    /// requests get them.
    private func publish(_ isOpen: Bool) {
        if self.isOpen.load(ordering: .relaxed) != isOpen { self.isOpen.store(isOpen, ordering: .relaxed) }
    }

    // MARK: Limits

    /// Changes the given limits. Additional slots go to waiters at once; a lower limit takes effect as slots are
    /// released. Waiters beyond a shorter queue are displaced; a new maximum wait applies to later requests.
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

    /// The current state of the limiter.
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

    /// Refuses new requests from now on. Waiting requests still get slots, unless `refusingWaiters` is true; a second
    /// call may set it later.
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
                    // Checked under the lock: a cancellation before this line is visible here, a later one finds the
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

    /// Starts the requested timer, and stops the previous one.
    private func start(_ request: TimerRequest) {
        // Detached, so that it retains nothing of the request that happened to start it (its task-local values).
        let task = Task.detached(priority: .high) { [weak self, clock] in
            guard (try? await clock.sleep(request.at)) != nil else { return }
            self?.timerFired(request.epoch)
        }
        // Two requests may arrive here out of order: keep the one with the later epoch.
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

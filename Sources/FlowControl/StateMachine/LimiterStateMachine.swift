package import SystemSupport

/// The decisions of `InFlightLimiter`, without waiting, locks or a clock: each event has the current time, and
/// returns the actions.
///
/// The states follow from three numbers and a phase; each event moves along these edges only:
///
///                arrive                  arrive                   arrive (policy allows)
///     ┌──────┐ ─────────▶ ┌─────────┐ ─────────▶ ┌──────────┐ ─────────▶ ┌──────────┐ ──┐ arrive
///     │ idle │            │ running │            │   full   │            │ queueing │   │ (drop_oldest, at capacity:
///     │ 0    │ ◀───────── │ < limit │ ◀───────── │ >= limit │ ◀───────── │ + waiters│ ◀─┘  the oldest makes room)
///     └──────┘   finish   └─────────┘   finish   └──────────┘   finish   └──────────┘
///         │                    │         resize        │        cancel        │  finish: the oldest waiter gets
///         │ beginDraining      │                       │        expire        │  the slot, in flight stays as it is
///         ▼                    ▼                       ▼        resize        ▼
///     ┌─────────┐   the last finish, and the queue empty   ┌────────────────────────────────┐
///     │ drained │ ◀─────────────────────────────────────── │ draining: arrivals are refused,│
///     └─────────┘                                          │ the rest continues as before     │
///                                                          └────────────────────────────────┘
///
/// What holds after every event (`invariantViolation` checks it):
/// - a request waits only while no slot is free: a free slot is given to a waiter in the same event, to the oldest (or to the
///   newest while more come than are done and the oldest is late: see ``OverloadDetector``);
/// - a slot is given only while fewer than `limit` are out (a lowered limit takes none back);
/// - no more wait than the queue's capacity, in order of arrival, and none past its expiry;
/// - the timer is set for the earliest expiry or before it;
/// - the counters add up.
package struct LimiterStateMachine<Waiter> {
    enum Phase {
        case accepting
        case draining
        case drained
    }

    package private(set) var configuration: LimiterConfiguration
    package private(set) var inFlight = 0
    package private(set) var counters = LimiterCounters()
    var phase = Phase.accepting
    var queue = WaiterQueue<Waiter>()
    var expiries = ExpiryHeap()
    var armed: TimerRequest?
    private var timerEpoch: UInt64 = 0
    private var service: ServiceTimeEstimate
    private var overload: OverloadDetector
    /// When a slot was last taken or given back: every slot that is out has been so for at least as long.
    private var lastChange = MonotonicInstant(nanoseconds: 0)

    package init(configuration: LimiterConfiguration) {
        self.configuration = configuration
        service = ServiceTimeEstimate(expected: configuration.expectedServiceTime.saturatedNanoseconds.magnitude)
        overload = OverloadDetector(target: configuration.overloadTarget)
    }

    package var waiting: Int { queue.count }
    package var isDraining: Bool { phase != .accepting }
    package var isDrained: Bool { phase == .drained }
    /// Whether the queue is now bounded by time and not by its capacity.
    package var isOverloaded: Bool { overload.isOverloaded }

    // MARK: Events

    /// A request asks for a slot.
    package mutating func arrive(
        at now: MonotonicInstant, deadline: MonotonicInstant?
    ) -> (Arrival, LimiterEffects<Waiter>) {
        var effects = expireDue(at: now)
        counters.arrived &+= 1
        overload.arrived(at: now)
        switch decide(at: now, deadline: deadline) {
        case .admit:
            counters.admittedAtOnce &+= 1
            return (.admitted(takeSlot(at: now, waited: 0)), effects)
        case .refuse(let error):
            return (.refused(refuse(error, at: now, &effects)), effects)
        case .enqueue(let displacing):
            if displacing { displaceOldest(at: now, &effects) }
            let ticket = enqueue(at: now, deadline: deadline)
            arm(&effects)
            return (.waiting(ticket), effects)
        }
    }

    /// A request whose task is cancelled already asks for a slot: it only counts.
    package mutating func arriveCancelled() {
        counters.arrived &+= 1
        counters.leftCancelled &+= 1
    }

    /// A request comes whose body is not here yet. Where `arrive` would refuse it, it is refused and counted now; else it
    /// will arrive later, and nothing is counted.
    package mutating func announce(
        at now: MonotonicInstant, deadline: MonotonicInstant?
    ) -> (AdmissionError?, LimiterEffects<Waiter>) {
        var effects = expireDue(at: now)
        guard case .refuse(let error) = decide(at: now, deadline: deadline) else { return (nil, effects) }
        counters.arrived &+= 1
        overload.arrived(at: now)
        return (refuse(error, at: now, &effects), effects)
    }

    /// A free slot, or nil: never waits, and a refusal is not counted.
    package mutating func tryArrive(at now: MonotonicInstant) -> Grant? {
        guard phase == .accepting, inFlight < configuration.limit else { return nil }
        counters.arrived &+= 1
        counters.admittedAtOnce &+= 1
        return takeSlot(at: now, waited: 0)
    }

    /// The task behind a ticket goes to sleep, to be resumed through `waiter`. An outcome: it must not, its wait is over.
    package mutating func suspend(_ ticket: WaiterTicket, as waiter: Waiter) -> WaitOutcome? {
        queue.attach(waiter, to: ticket)
    }

    /// The task behind a ticket was cancelled. Nothing happens where its wait is over already: a slot that was given is
    /// then the task's to give back.
    package mutating func cancel(_ ticket: WaiterTicket, at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        var effects = LimiterEffects<Waiter>()
        guard queue.contains(ticket) else { return effects }
        let waited = now.nanoseconds(since: queue.arrival(of: ticket).at)
        leave(ticket, .cancelled, &effects)
        if overload.departed(after: waited, at: now) { shed(at: now, &effects) }
        return effects
    }

    /// A slot comes back.
    package mutating func finish(_ grant: Grant, at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        var effects = expireDue(at: now)
        guard inFlight > 0 else {
            assertionFailure("more slots given back than taken")
            return effects
        }
        let held = now.nanoseconds(since: grant.since)
        service.record(held)
        counters.released &+= 1
        counters.servedNanoseconds &+= held
        inFlight -= 1
        lastChange = max(lastChange, now)
        overload.completed(at: now, interval: interval)
        grantFreeSlots(at: now, &effects)
        completeDrain(&effects)
        return effects
    }

    /// The timer of this epoch went off, perhaps too early.
    package mutating func timerFired(epoch: UInt64, at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        guard epoch == timerEpoch else { return LimiterEffects() }
        armed = nil
        var effects = expireDue(at: now)
        arm(&effects)
        return effects
    }

    /// Other bounds. More slots go to waiters at once; slots over a lower limit are not taken back but not given again.
    /// Waiters over a smaller capacity are displaced: the oldest under `drop_oldest`, else the newest. A new longest wait
    /// is for those who come from now on.
    package mutating func resize(
        to configuration: LimiterConfiguration, at now: MonotonicInstant
    ) -> LimiterEffects<Waiter> {
        var effects = expireDue(at: now)
        if configuration.overloadTarget != self.configuration.overloadTarget {
            overload = overload.retargeted(to: configuration.overloadTarget)
        }
        self.configuration = configuration
        grantFreeSlots(at: now, &effects)
        while queue.count > configuration.effectiveCapacity {
            guard let ticket = configuration.policy == .dropOldest ? queue.oldest : queue.newest else { break }
            leave(ticket, .displaced(predictedWait: predictedWait(at: now)), &effects)
        }
        return effects
    }

    /// From now on arrivals are refused. Waiters get their slot, unless they are refused too.
    package mutating func beginDraining(
        refusingWaiters: Bool, at now: MonotonicInstant
    ) -> LimiterEffects<Waiter> {
        var effects = expireDue(at: now)
        if phase == .accepting { phase = .draining }
        while refusingWaiters, let ticket = queue.oldest { leave(ticket, .draining, &effects) }
        completeDrain(&effects)
        return effects
    }

    // MARK: Looks

    /// How long a request that came now would wait.
    package func predictedWait(at now: MonotonicInstant) -> Duration {
        .nanoseconds(clamping: predictedWaitNanoseconds(ahead: queue.count, at: now))
    }

    /// How long a slot is held, smoothed; nil before the first came back.
    package var serviceTime: Duration? {
        service.isMeasured ? .nanoseconds(clamping: Self.clamped(service.nanoseconds)) : nil
    }

    // MARK: Decisions

    private enum Decision {
        case admit
        case enqueue(displacing: Bool)
        case refuse(AdmissionError)
    }

    private func decide(at now: MonotonicInstant, deadline: MonotonicInstant?) -> Decision {
        guard phase == .accepting else { return .refuse(.draining) }
        if let deadline, deadline <= now { return .refuse(.deadlineExceeded) }
        // A free slot is given whatever the prediction says: else a wrong prediction would never be put right.
        if inFlight < configuration.limit { return .admit }

        let capacity = configuration.effectiveCapacity
        let isFull = queue.count >= capacity
        let displaces = isFull && capacity > 0 && configuration.policy == .dropOldest
        if isFull, !displaces { return .refuse(.queueFull(predictedWait: predictedWait(at: now))) }

        let wait = predictedWaitNanoseconds(ahead: displaces ? queue.count - 1 : queue.count, at: now)
        let predicted = Duration.nanoseconds(clamping: wait)
        if overload.isOverloaded, capacity > 0, Double(wait) > longestWait {
            return .refuse(.overloaded(predictedWait: predicted, retryAfter: .seconds(1)))
        }
        if let deadline, wait &+ Self.clamped(service.nanoseconds) > deadline.nanoseconds(since: now) {
            return .refuse(.deadlineUnreachable(predictedWait: predicted))
        }
        if predicted > configuration.maxWait { return .refuse(.queueFull(predictedWait: predicted)) }
        return .enqueue(displacing: displaces)
    }

    /// The time until the slot comes free for which `ahead` others wait.
    ///
    /// With `limit` slots, each held for a mean of s, one comes back every s/limit, and the request needs `ahead + 1` of
    /// them (and those above a lowered limit). The first of them is due s/limit after the last change. Where it is
    /// overdue, it may come at any moment; but once none has come for longer than s, every slot that is out has been
    /// held for too long, and is expected to be held for about as long again as it is overdue. So a hung engine shows as
    /// a growing wait, and not as the cheerful one of its last good minute; a hiccup is not taken for the new normal.
    /// With nothing measured and nothing expected, nothing is predicted, and no request refused for it.
    private func predictedWaitNanoseconds(ahead: Int, at now: MonotonicInstant) -> UInt64 {
        guard inFlight >= configuration.limit, service.nanoseconds > 0 else { return 0 }
        let slots = Double(configuration.limit)
        let mean = service.nanoseconds
        let since = Double(now.nanoseconds(since: lastChange))
        let turns = Double(inFlight - configuration.limit + ahead)
        let wait = turns * mean / slots + max(mean / slots - since, since - mean, 0)
        return Self.clamped(wait)
    }

    /// The mean time between two slots that come back while all are taken, in nanoseconds.
    private var interval: Double { service.nanoseconds / Double(configuration.limit) }

    /// The longest predicted wait with which a request is admitted while overloaded, in nanoseconds.
    private var longestWait: Double { overload.longestWait(service: service.nanoseconds, interval: interval) }

    /// Nanoseconds between 0 and an hour: longer is as good as never, and sums of two cannot overflow.
    private static func clamped(_ nanoseconds: Double) -> UInt64 {
        UInt64(min(max(nanoseconds, 0), 3_600_000_000_000))
    }

    // MARK: Changes

    private mutating func takeSlot(at now: MonotonicInstant, waited: UInt64) -> Grant {
        inFlight += 1
        lastChange = max(lastChange, now)
        counters.mostInFlight = max(counters.mostInFlight, inFlight)
        return Grant(since: now, waitedNanoseconds: waited)
    }

    private mutating func enqueue(at now: MonotonicInstant, deadline: MonotonicInstant?) -> WaiterTicket {
        let patience = now.advanced(by: configuration.maxWait)
        let expiry = min(patience, deadline ?? .distantFuture)
        let ticket = queue.append(arrivedAt: now, expiresByDeadline: expiry < patience)
        expiries.sweep(live: queue.count) { [queue] in queue.contains($0) }
        expiries.insert(ExpiryHeap.Entry(at: expiry, ticket: ticket))
        counters.mostWaiting = max(counters.mostWaiting, queue.count)
        return ticket
    }

    private mutating func grantFreeSlots(at now: MonotonicInstant, _ effects: inout LimiterEffects<Waiter>) {
        while inFlight < configuration.limit, let oldest = queue.oldest, let newest = queue.newest {
            let longest = now.nanoseconds(since: queue.arrival(of: oldest).at)
            let ticket = overload.prefersNewest(over: longest, at: now) ? newest : oldest
            let waited = now.nanoseconds(since: queue.arrival(of: ticket).at)
            counters.admittedAfterWait &+= 1
            counters.waitedNanoseconds &+= waited
            end(ticket, .success(takeSlot(at: now, waited: waited)), &effects)
        }
    }

    /// Refuses an arrival. A refusal because the queue is full may be the sign of overload.
    private mutating func refuse(
        _ error: AdmissionError, at now: MonotonicInstant, _ effects: inout LimiterEffects<Waiter>
    ) -> AdmissionError {
        count(refusal: error)
        if case .queueFull = error, configuration.policy == .defer, overload.foundFull(at: now) {
            shed(at: now, &effects)
        }
        guard case .overloaded(let wait, _) = error else { return error }
        return .overloaded(predictedWait: wait, retryAfter: overload.retryAfter())
    }

    /// Overload begins: of those who wait, the youngest stay whose answers are predicted within the target; for the others it
    /// is too late.
    private mutating func shed(at now: MonotonicInstant, _ effects: inout LimiterEffects<Waiter>) {
        guard configuration.policy == .defer else { return }
        while let oldest = queue.oldest, Double(predictedWaitNanoseconds(ahead: queue.count - 1, at: now)) > longestWait
        {
            let wait = predictedWait(at: now)
            leave(oldest, .overloaded(predictedWait: wait, retryAfter: overload.retryAfter()), &effects)
        }
    }

    private mutating func displaceOldest(at now: MonotonicInstant, _ effects: inout LimiterEffects<Waiter>) {
        guard let oldest = queue.oldest else { return }
        leave(oldest, .displaced(predictedWait: predictedWait(at: now)), &effects)
    }

    /// Waiters whose time is up leave. Before any other decision, so that none is given a slot, keeps a place from an
    /// arrival, or has its fate hang on how punctual a timer is.
    private mutating func expireDue(at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        var effects = LimiterEffects<Waiter>()
        while let first = expiries.first, first.at <= now {
            expiries.removeFirst()
            guard queue.contains(first.ticket) else { continue }
            let (arrivedAt, byDeadline) = queue.arrival(of: first.ticket)
            let waited = now.nanoseconds(since: arrivedAt)
            leave(
                first.ticket, byDeadline ? .deadlineExceeded : .waitTimedOut(.nanoseconds(clamping: waited)), &effects)
            if overload.departed(after: waited, at: now) { shed(at: now, &effects) }
        }
        return effects
    }

    private mutating func leave(
        _ ticket: WaiterTicket, _ error: AdmissionError, _ effects: inout LimiterEffects<Waiter>
    ) {
        count(departure: error)
        end(ticket, .failure(error), &effects)
    }

    private mutating func end(
        _ ticket: WaiterTicket, _ outcome: WaitOutcome, _ effects: inout LimiterEffects<Waiter>
    ) {
        guard let waiter = queue.resolve(ticket, with: outcome) else { return }
        effects.resume.append((waiter, outcome))
    }

    /// Asks for a timer if the earliest expiry comes before the one asked for. A timer that is set too early is left
    /// alone and asks again when it goes off: as waiters mostly leave for a slot, and later comers expire later, that is
    /// one timer per longest wait, not one per request.
    private mutating func arm(_ effects: inout LimiterEffects<Waiter>) {
        while let first = expiries.first, !queue.contains(first.ticket) { expiries.removeFirst() }
        guard let next = expiries.first?.at, armed.map({ next < $0.at }) ?? true else { return }
        timerEpoch &+= 1
        armed = TimerRequest(at: next, epoch: timerEpoch)
        effects.timer = armed
    }

    private mutating func completeDrain(_ effects: inout LimiterEffects<Waiter>) {
        guard phase == .draining, inFlight == 0, queue.count == 0 else { return }
        phase = .drained
        effects.drained = true
    }

    private mutating func count(refusal error: AdmissionError) {
        switch error {
        case .queueFull: counters.refusedQueueFull &+= 1
        case .overloaded: counters.refusedOverloaded &+= 1
        case .deadlineExceeded: counters.refusedDeadlineExceeded &+= 1
        case .deadlineUnreachable: counters.refusedDeadlineUnreachable &+= 1
        case .draining: counters.refusedDraining &+= 1
        case .waitTimedOut, .displaced, .cancelled: assertionFailure("not a refusal")
        }
    }

    private mutating func count(departure error: AdmissionError) {
        switch error {
        case .waitTimedOut: counters.leftTimedOut &+= 1
        case .deadlineExceeded: counters.leftDeadlineExceeded &+= 1
        case .displaced, .overloaded: counters.leftDisplaced &+= 1
        case .draining: counters.leftDraining &+= 1
        case .cancelled: counters.leftCancelled &+= 1
        case .queueFull, .deadlineUnreachable: assertionFailure("not a departure")
        }
    }
}

package import SystemSupport

/// The decisions of `InFlightLimiter`, without waiting, locks or a clock: each event takes the current time, and
/// returns the actions.
///
/// The states follow from three numbers and a phase. Events move only along these edges:
///
///                arrive                  arrive                   arrive (policy allows)
///     ┌──────┐ ─────────▶ ┌─────────┐ ─────────▶ ┌──────────┐ ─────────▶ ┌──────────┐ ──┐ arrive
///     │ idle │            │ running │            │   full   │            │ queueing │   │ (drop_oldest, at capacity:
///     │ 0    │ ◀───────── │ < limit │ ◀───────── │ >= limit │ ◀───────── │ + waiters│ ◀─┘  the oldest makes room)
///     └──────┘   finish   └─────────┘   finish   └──────────┘   finish   └──────────┘
///         │                    │         resize        │        cancel        │  finish: a waiter gets the slot,
///         │ beginDraining      │                       │        expire        │  in flight stays as it is
///         ▼                    ▼                       ▼        resize        ▼
///     ┌─────────┐   the last finish, and the queue empty   ┌────────────────────────────────┐
///     │ drained │ ◀─────────────────────────────────────── │ draining: arrivals are refused,│
///     └─────────┘                                          │ the rest continues as before   │
///                                                          └────────────────────────────────┘
///
/// A request moves along these edges. Its ways out of the queue are counted one by one (``LimiterCounters``):
///
///     arrive ──▶ refused: draining, deadline, full queue, predicted wait, overload
///        │
///        ├── a slot is free (for a long request: `Slots.allowsLong`) ─────────────▶ in flight ── finish ──▶ released
///        │                                                                            ▲  ▲
///        ▼                    its client's turn (`ClientShares`); while the queue     │  │
///     waiting, with a turn ── grows, that of a waiter that is in time ────────────────┘  │
///        │     │                                                                         │
///        │     └── overload begins, and its answer is late ──▶ set aside ── `AsideTurns` ┘
///        │                                                        │
///        └──▶ left: cancelled, expired, displaced, draining ◀─────┘
///
/// Overload (``OverloadDetector``) begins when the queue grows for too long, and ends when arrivals have settled; while
/// it lasts, the queue is bounded by the predicted wait instead of its capacity.
///
/// The parts: ``Slots`` (which are free, and when the next one will be), ``WaiterQueue`` (order, and which waiter is
/// displaced), ``ExpiryTimer``, ``ClientShares``, ``AsideTurns``, ``OverloadDetector``.
///
/// The invariants after every event (`invariantViolation` checks them):
/// - A request waits only while no slot is free: the same event gives a free slot to a waiter of the client with the
///   next turn, usually to its oldest one (if more requests arrive than complete and the oldest is late, to the oldest
///   that is not).
/// - Long requests (``Claim/isLong``) hold at most two thirds of the slots.
/// - A slot is given only while fewer than `limit` are in use (a lowered limit revokes none).
/// - The number of waiters does not exceed the queue's capacity; they are in order of arrival, and none is past its
///   expiry.
/// - The timer is set for the earliest expiry, or earlier.
/// - The counters are consistent.
package struct LimiterStateMachine<Waiter> {
    enum Phase {
        case accepting
        case draining
        case drained
    }

    // The fields that every request changes come first, next to each other, because another processor must fetch each
    // cache line.
    private var slots: Slots
    private var shares = ClientShares()
    package private(set) var counters = LimiterCounters()
    private var overload: OverloadDetector

    package private(set) var configuration: LimiterConfiguration
    var phase = Phase.accepting
    var queue = WaiterQueue<Waiter>()
    var expiries = ExpiryTimer()
    private var asideTurns = AsideTurns()

    package init(configuration: LimiterConfiguration) {
        self.configuration = configuration
        slots = Slots(
            limit: configuration.limit,
            expectedService: configuration.expectedServiceTime.saturatedNanoseconds.magnitude)
        overload = OverloadDetector(target: configuration.overloadTarget)
    }

    package var inFlight: Int { slots.inUse }
    /// The number of long requests in flight.
    package var longInFlight: Int { slots.longInUse }
    package var waiting: Int { queue.count }
    package var isDraining: Bool { phase != .accepting }
    /// True if a request that arrives now gets a slot, even a long one.
    package var isOpen: Bool { phase == .accepting && slots.isFree && slots.allowsLong }
    package var isDrained: Bool { phase == .drained }
    /// The maximum number of slots held by long requests.
    var maximumLong: Int { slots.maximumLong }
    /// True if the queue is bounded by time instead of capacity.
    package var isOverloaded: Bool { overload.isOverloaded }

    // MARK: Events

    /// Decides on a request that arrives.
    package mutating func arrive(
        at now: MonotonicInstant, deadline: MonotonicInstant?, claim: Claim = .usual
    ) -> (Arrival, LimiterEffects<Waiter>) {
        var effects = expireDue(at: now)
        counters.arrived &+= 1
        overload.arrived(at: now)
        showQueue(at: now)
        switch decide(at: now, deadline: deadline, claim) {
        case .admit:
            counters.admittedAtOnce &+= 1
            begin(claim.client)
            return (.admitted(takeSlot(at: now, waited: 0, claim)), effects)
        case .refuse(let error):
            return (.refused(refuse(error, at: now, &effects)), effects)
        case .enqueue(let displaced):
            if let displaced { leave(displaced, .displaced(predictedWait: predictedWait(at: now)), &effects) }
            let ticket = enqueue(at: now, deadline: deadline, claim)
            effects.timer = expiries.arm(for: queue)
            return (.waiting(ticket), effects)
        }
    }

    /// Counts a request of a cancelled task that arrives.
    package mutating func arriveCancelled() {
        counters.arrived &+= 1
        counters.leftCancelled &+= 1
    }

    /// Decides on a request when its head arrives. If `arrive` would refuse the request, it is refused and counted now;
    /// otherwise nothing is counted until it arrives.
    package mutating func announce(
        at now: MonotonicInstant, deadline: MonotonicInstant?, claim: Claim = .usual
    ) -> (AdmissionError?, LimiterEffects<Waiter>) {
        var effects = expireDue(at: now)
        guard case .refuse(let error) = decide(at: now, deadline: deadline, claim) else { return (nil, effects) }
        counters.arrived &+= 1
        overload.arrived(at: now)
        return (refuse(error, at: now, &effects), effects)
    }

    /// Takes a free slot, or returns nil. Never waits, and does not count a refusal.
    package mutating func tryArrive(at now: MonotonicInstant) -> Grant? {
        guard phase == .accepting, slots.isFree else { return nil }
        counters.arrived &+= 1
        counters.admittedAtOnce &+= 1
        begin(Claim.usual.client)
        return takeSlot(at: now, waited: 0, .usual)
    }

    /// Stores `waiter`, through which the task of a ticket will be resumed; the task is about to suspend. If this
    /// returns an outcome, the wait is over and the task must not suspend.
    package mutating func suspend(_ ticket: WaiterTicket, as waiter: Waiter) -> WaitOutcome? {
        queue.attach(waiter, to: ticket)
    }

    /// Ends the wait of a cancelled task. No effect if the wait is over already: if the task got a slot, it must
    /// release it.
    package mutating func cancel(_ ticket: WaiterTicket, at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        var effects = LimiterEffects<Waiter>()
        guard queue.contains(ticket) else { return effects }
        let waited = now.nanoseconds(since: queue.arrival(of: ticket).at)
        leave(ticket, .cancelled, &effects)
        if overload.departed(after: waited, at: now) { deferLate(at: now) }
        return effects
    }

    /// Releases a slot.
    package mutating func finish(_ grant: Grant, at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        var effects = expireDue(at: now)
        guard inFlight > 0 else {
            assertionFailure("more slots were returned than taken")
            return effects
        }
        let held = now.nanoseconds(since: grant.since)
        counters.released &+= 1
        counters.servedNanoseconds &+= held
        slots.release(isLong: grant.claim.isLong, held: held, at: now)
        shares.correct(grant.claim.client, cost: grant.cost, spent: held)
        shares.end(grant.claim.client)
        queue.move(grant.claim.client, to: shares.start(of: grant.claim.client))
        overload.completed(at: now, interval: slots.interval)
        grantFreeSlots(at: now, &effects)
        if inFlight == 0 { overload.becameIdle(at: now) }
        completeDrain(&effects)
        return effects
    }

    /// Charges a client for work done without a slot: its next turn comes later by that time.
    package mutating func charge(_ claim: Claim, nanoseconds: UInt64) {
        shares.charge(claim.client, nanoseconds)
        queue.move(claim.client, to: shares.start(of: claim.client))
    }

    /// Handles the timer of this epoch, which may be early.
    package mutating func timerFired(epoch: UInt64, at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        guard expiries.fired(epoch: epoch) else { return LimiterEffects() }
        var effects = expireDue(at: now)
        effects.timer = expiries.arm(for: queue)
        return effects
    }

    /// Changes the limits. Additional slots go to waiters at once; slots over a lower limit are not revoked, but not
    /// given again. Waiters over a smaller capacity are displaced: the oldest under `drop_oldest`, otherwise the
    /// newest. A new maximum wait applies to later requests.
    package mutating func resize(
        to configuration: LimiterConfiguration, at now: MonotonicInstant
    ) -> LimiterEffects<Waiter> {
        var effects = expireDue(at: now)
        if configuration.overloadTarget != self.configuration.overloadTarget {
            overload = overload.retargeted(to: configuration.overloadTarget)
        }
        self.configuration = configuration
        slots.limit = configuration.limit
        grantFreeSlots(at: now, &effects)
        while queue.count > configuration.effectiveCapacity {
            let next = configuration.policy == .dropOldest ? queue.oldest : queue.newest
            guard let ticket = next ?? queue.newestDeferred else { break }
            leave(ticket, .displaced(predictedWait: predictedWait(at: now)), &effects)
        }
        return effects
    }

    /// Refuses new requests from now on. Waiters still get slots, unless they are refused too.
    package mutating func beginDraining(
        refusingWaiters: Bool, at now: MonotonicInstant
    ) -> LimiterEffects<Waiter> {
        var effects = expireDue(at: now)
        if phase == .accepting { phase = .draining }
        while refusingWaiters, let ticket = queue.oldest ?? queue.newestDeferred { leave(ticket, .draining, &effects) }
        completeDrain(&effects)
        return effects
    }

    // MARK: Queries

    /// The predicted wait of a request that arrives now.
    package func predictedWait(at now: MonotonicInstant) -> Duration {
        .nanoseconds(clamping: slots.predictedWait(ahead: queue.count, at: now))
    }

    /// The smoothed time for which a slot is held; nil until a slot was released.
    package var serviceTime: Duration? {
        slots.isMeasured ? .nanoseconds(clamping: slots.boundedServiceTime) : nil
    }

    // MARK: Decisions

    private enum Decision {
        case admit
        case enqueue(displacing: WaiterTicket?)
        case refuse(AdmissionError)
    }

    private func decide(at now: MonotonicInstant, deadline: MonotonicInstant?, _ claim: Claim) -> Decision {
        guard phase == .accepting else { return .refuse(.draining) }
        if let deadline, deadline <= now { return .refuse(.deadlineExceeded) }
        // Grant a free slot even if the prediction says late; otherwise a wrong estimate is never corrected.
        if slots.isFree, !claim.isLong || slots.allowsLong { return .admit }

        let capacity = configuration.effectiveCapacity
        let isFull = queue.count >= capacity
        let displaced = isFull && capacity > 0 ? displaceable(by: claim.client) : nil
        if isFull, displaced == nil { return .refuse(.queueFull(predictedWait: predictedWait(at: now))) }

        let wait = slots.predictedWait(
            ahead: min(queue.turnsBefore(claim.client), displaced == nil ? .max : queue.count - 1), at: now)
        let predicted = Duration.nanoseconds(clamping: wait)
        if overload.isOverloaded, capacity > 0, Double(wait) > longestWait {
            return .refuse(.overloaded(predictedWait: predicted, retryAfter: .seconds(1)))
        }
        if let deadline, wait &+ slots.boundedServiceTime > deadline.nanoseconds(since: now) {
            return .refuse(.deadlineUnreachable(predictedWait: predicted))
        }
        if predicted > configuration.maxWait { return .refuse(.queueFull(predictedWait: predicted)) }
        return .enqueue(displacing: displaced)
    }

    /// The waiter that leaves a full queue for a new request of `client`.
    private func displaceable(by client: Int) -> WaiterTicket? {
        configuration.policy == .dropOldest ? queue.oldest : queue.displaceable(by: client)
    }

    /// The maximum predicted wait of requests admitted while overloaded, in nanoseconds.
    private var longestWait: Double { overload.longestWait(service: slots.serviceTime, interval: slots.interval) }

    // MARK: Changes

    private mutating func begin(_ client: Int) { shares.begin(client, hasWaiters: queue.waiting(of: client) > 0) }

    private mutating func takeSlot(at now: MonotonicInstant, waited: UInt64, _ claim: Claim) -> Grant {
        slots.take(isLong: claim.isLong, at: now)
        counters.peakInFlight = max(counters.peakInFlight, inFlight)
        let cost = max(claim.work, slots.boundedServiceTime)
        shares.serve(claim.client, cost: cost)
        queue.move(claim.client, to: shares.start(of: claim.client))
        return Grant(since: now, waitedNanoseconds: waited, claim: claim, cost: cost)
    }

    private mutating func enqueue(
        at now: MonotonicInstant, deadline: MonotonicInstant?, _ claim: Claim
    ) -> WaiterTicket {
        let patience = now.advanced(by: configuration.maxWait)
        let expiry = min(patience, deadline ?? .distantFuture)
        begin(claim.client)
        let ticket = queue.append(
            WaiterQueue<Waiter>.Arrival(at: now, expiresByDeadline: expiry < patience, claim: claim),
            start: shares.start(of: claim.client))
        expiries.insert(ticket, at: expiry, of: queue)
        counters.peakWaiting = max(counters.peakWaiting, queue.count)
        return ticket
    }

    private mutating func grantFreeSlots(at now: MonotonicInstant, _ effects: inout LimiterEffects<Waiter>) {
        while slots.isFree, let ticket = next(at: now) {
            let arrival = queue.arrival(of: ticket)
            let waited = now.nanoseconds(since: arrival.at)
            counters.admittedAfterWait &+= 1
            counters.waitedNanoseconds &+= waited
            end(ticket, .success(takeSlot(at: now, waited: waited, arrival.claim)), &effects)
        }
    }

    /// The waiter that gets the free slot.
    private mutating func next(at now: MonotonicInstant) -> WaiterTicket? {
        let allowsLong = slots.allowsLong
        let turn = queue.next(allowingLong: allowsLong)
        if let aside = queue.oldestDeferred(allowingLong: allowsLong) {
            if asideTurns.isNext(hasOthers: turn != nil) { return aside }
        }
        guard let turn, let oldest = queue.oldest(of: turn) else { return nil }
        guard overload.prefersYounger(over: now.nanoseconds(since: queue.arrival(of: oldest).at), at: now) else {
            return oldest
        }
        let timeToWait = overload.timeToWait(service: slots.serviceTime)
        // The oldest waiter that is still in time, if its client's turn is not later: so clients with one request each
        // share time like the requests of one client.
        if let young = queue.oldest(since: now.advanced(by: .zero - timeToWait)) ?? queue.newest,
            let other = queue.turn(of: young), other.start <= turn.start,
            allowsLong || !queue.arrival(of: young).claim.isLong
        {
            return young
        }
        return queue.newest(of: turn)
    }

    /// Reports to the overload detector the queue that an arriving request finds.
    private mutating func showQueue(at now: MonotonicInstant) {
        let withTurns = queue.count - queue.aside, capacity = configuration.effectiveCapacity
        overload.foundQueue(
            wait: slots.predictedWait(ahead: withTurns, at: now),
            isNearlyFull: withTurns >= capacity - capacity / 5, at: now)
    }

    /// Refuses an arrival. A refusal for a full queue may indicate overload.
    private mutating func refuse(
        _ error: AdmissionError, at now: MonotonicInstant, _ effects: inout LimiterEffects<Waiter>
    ) -> AdmissionError {
        counters.count(refusal: error)
        if case .queueFull = error, configuration.policy == .defer, overload.foundFull(at: now) {
            deferLate(at: now)
        }
        guard case .overloaded(let wait, _) = error else { return error }
        return .overloaded(predictedWait: wait, retryAfter: overload.retryAfter())
    }

    /// Sets late waiters aside when overload begins. The youngest waiters whose answers are predicted within the target
    /// keep their turns. The others were accepted and are answered too, but no longer delay them.
    private mutating func deferLate(at now: MonotonicInstant) {
        guard configuration.policy == .defer else { return }
        while let oldest = queue.oldest,
            Double(slots.predictedWait(ahead: queue.count - queue.aside - 1, at: now)) > longestWait
        {
            queue.deferTurn(oldest)
        }
    }

    /// Removes waiters whose time is up. This precedes every other decision, so that none of them gets a slot or keeps
    /// a place from an arrival, and the result does not depend on the punctuality of a timer.
    private mutating func expireDue(at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        var effects = LimiterEffects<Waiter>()
        while let ticket = expiries.nextDue(at: now) {
            guard queue.contains(ticket) else { continue }
            let arrival = queue.arrival(of: ticket)
            let waited = now.nanoseconds(since: arrival.at)
            leave(
                ticket,
                arrival.expiresByDeadline ? .deadlineExceeded : .waitTimedOut(.nanoseconds(clamping: waited)), &effects)
            if overload.departed(after: waited, at: now) { deferLate(at: now) }
        }
        return effects
    }

    private mutating func leave(
        _ ticket: WaiterTicket, _ error: AdmissionError, _ effects: inout LimiterEffects<Waiter>
    ) {
        counters.count(departure: error)
        shares.end(queue.arrival(of: ticket).claim.client)
        end(ticket, .failure(error), &effects)
    }

    private mutating func end(
        _ ticket: WaiterTicket, _ outcome: WaitOutcome, _ effects: inout LimiterEffects<Waiter>
    ) {
        guard let waiter = queue.resolve(ticket, with: outcome) else { return }
        effects.resume.append((waiter, outcome))
    }

    private mutating func completeDrain(_ effects: inout LimiterEffects<Waiter>) {
        guard phase == .draining, inFlight == 0, queue.count == 0 else { return }
        phase = .drained
        effects.drained = true
    }
}

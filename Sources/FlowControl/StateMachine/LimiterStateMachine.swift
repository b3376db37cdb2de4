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
/// The invariants, which hold after every event (`invariantViolation` checks them):
/// - a request waits only while no slot is free: a free slot is given to a waiter in the same event, to the client's
///   whose turn it is (``ClientShares``), and of its waiters to the oldest (while more come than are done and the
///   oldest is late, to the oldest that is not: see ``OverloadDetector``);
/// - long requests (``Claim/isLong``) hold at most two thirds of the slots: there is soon a slot for those who are done
///   quickly;
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

    // First what each request changes, side by side: another processor has to fetch each line of it.
    package private(set) var inFlight = 0
    /// Of those, the long ones.
    package private(set) var longInFlight = 0
    /// The time when a slot was last taken or given back: every slot that is out has been so for at least as long.
    private var lastChange = MonotonicInstant(nanoseconds: 0)
    private var service: ServiceTimeEstimate
    private var shares = ClientShares()
    package private(set) var counters = LimiterCounters()
    private var overload: OverloadDetector

    package private(set) var configuration: LimiterConfiguration
    var phase = Phase.accepting
    var queue = WaiterQueue<Waiter>()
    var expiries = ExpiryHeap()
    var armed: TimerRequest?
    private var timerEpoch: UInt64 = 0
    /// Slots given since one of those set aside got one.
    private var passedOver = 0
    /// One slot in so many goes to a waiter that was set aside, while others have turns.
    private static var slotsPerAside: Int { 8 }

    package init(configuration: LimiterConfiguration) {
        self.configuration = configuration
        service = ServiceTimeEstimate(expected: configuration.expectedServiceTime.saturatedNanoseconds.magnitude)
        overload = OverloadDetector(target: configuration.overloadTarget)
    }

    package var waiting: Int { queue.count }
    package var isDraining: Bool { phase != .accepting }
    /// True if a request that comes now gets a slot, a long one too.
    package var isOpen: Bool { phase == .accepting && inFlight < configuration.limit && longInFlight < mostLong }
    package var isDrained: Bool { phase == .drained }
    /// The most slots that long requests hold.
    var mostLong: Int { max(1, configuration.limit * 2 / 3) }
    /// True if the queue is now bounded by time and not by its capacity.
    package var isOverloaded: Bool { overload.isOverloaded }

    // MARK: Events

    /// A request asks for a slot.
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
            arm(&effects)
            return (.waiting(ticket), effects)
        }
    }

    /// A request whose task is cancelled already asks for a slot: it only counts.
    package mutating func arriveCancelled() {
        counters.arrived &+= 1
        counters.leftCancelled &+= 1
    }

    /// A request comes whose body is not here yet. Where `arrive` would refuse it, it is refused and counted now; else
    /// it will arrive later, and nothing is counted.
    package mutating func announce(
        at now: MonotonicInstant, deadline: MonotonicInstant?, claim: Claim = .usual
    ) -> (AdmissionError?, LimiterEffects<Waiter>) {
        var effects = expireDue(at: now)
        guard case .refuse(let error) = decide(at: now, deadline: deadline, claim) else { return (nil, effects) }
        counters.arrived &+= 1
        overload.arrived(at: now)
        return (refuse(error, at: now, &effects), effects)
    }

    /// A free slot, or nil: never waits, and a refusal is not counted.
    package mutating func tryArrive(at now: MonotonicInstant) -> Grant? {
        guard phase == .accepting, inFlight < configuration.limit else { return nil }
        counters.arrived &+= 1
        counters.admittedAtOnce &+= 1
        begin(Claim.usual.client)
        return takeSlot(at: now, waited: 0, .usual)
    }

    /// The task behind a ticket goes to sleep, to be resumed through `waiter`. An outcome: it must not, its wait is
    /// over.
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
        if overload.departed(after: waited, at: now) { setAsideLate(at: now) }
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
        if grant.claim.isLong { longInFlight -= 1 }
        shares.correct(grant.claim.client, cost: grant.cost, spent: held)
        shares.end(grant.claim.client)
        queue.move(grant.claim.client, to: shares.start(of: grant.claim.client))
        lastChange = max(lastChange, now)
        overload.completed(at: now, interval: interval)
        grantFreeSlots(at: now, &effects)
        if inFlight == 0 { overload.becameIdle(at: now) }
        completeDrain(&effects)
        return effects
    }

    /// A client had work done without a slot: its next turn comes so much later.
    package mutating func charge(_ claim: Claim, nanoseconds: UInt64) {
        shares.charge(claim.client, nanoseconds)
        queue.move(claim.client, to: shares.start(of: claim.client))
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
    /// Waiters over a smaller capacity are displaced: the oldest under `drop_oldest`, else the newest. A new longest
    /// wait is for those who come from now on.
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
            let next = configuration.policy == .dropOldest ? queue.oldest : queue.newest
            guard let ticket = next ?? queue.newestAside else { break }
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
        while refusingWaiters, let ticket = queue.oldest ?? queue.newestAside { leave(ticket, .draining, &effects) }
        completeDrain(&effects)
        return effects
    }

    // MARK: Looks

    /// The predicted wait of a request that came now.
    package func predictedWait(at now: MonotonicInstant) -> Duration {
        .nanoseconds(clamping: predictedWaitNanoseconds(ahead: queue.count, at: now))
    }

    /// The time for which a slot is held, smoothed; nil before the first came back.
    package var serviceTime: Duration? {
        service.isMeasured ? .nanoseconds(clamping: Self.clamped(service.nanoseconds)) : nil
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
        // A free slot is given whatever the prediction says: else a wrong prediction would never be put right.
        if inFlight < configuration.limit, !claim.isLong || longInFlight < mostLong { return .admit }

        let capacity = configuration.effectiveCapacity
        let isFull = queue.count >= capacity
        let displaced = isFull && capacity > 0 ? displaceable(by: claim.client) : nil
        if isFull, displaced == nil { return .refuse(.queueFull(predictedWait: predictedWait(at: now))) }

        let wait = predictedWaitNanoseconds(
            ahead: min(turnsBefore(claim.client), displaced == nil ? .max : queue.count - 1), at: now)
        let predicted = Duration.nanoseconds(clamping: wait)
        if overload.isOverloaded, capacity > 0, Double(wait) > longestWait {
            return .refuse(.overloaded(predictedWait: predicted, retryAfter: .seconds(1)))
        }
        if let deadline, wait &+ Self.clamped(service.nanoseconds) > deadline.nanoseconds(since: now) {
            return .refuse(.deadlineUnreachable(predictedWait: predicted))
        }
        if predicted > configuration.maxWait { return .refuse(.queueFull(predictedWait: predicted)) }
        return .enqueue(displacing: displaced)
    }

    /// The waiter that leaves a full queue for a new request of a client: under `drop_oldest` the oldest; else the
    /// newest of the client with the most waiters, if that is more than the new one's has: one client does not fill the
    /// queue for the others.
    private func displaceable(by client: Int) -> WaiterTicket? {
        if configuration.policy == .dropOldest { return queue.oldest }
        let own = queue.waiting(of: client)
        // It may be the only one in the queue: the most usual reason for a full one.
        guard queue.clients > 1 || own == 0, let longest = queue.longestList, longest.count > own + 1 else {
            return nil
        }
        return queue.newest(of: longest.turn)
    }

    /// The slots that are given before that of a client's next request: to those of its own that wait, and to as many
    /// of each other client's, in the order of their turns; and those that are given meanwhile to waiters that were set
    /// aside.
    private func turnsBefore(_ client: Int) -> Int {
        let own = queue.waiting(of: client)
        let clients = queue.clients + (own == 0 ? 1 : 0)
        let withTurns = min(queue.count - queue.aside, clients * (own + 1) - 1)
        return withTurns + min(queue.aside, withTurns / (Self.slotsPerAside - 1))
    }

    /// The time until the slot comes free for which `ahead` others wait.
    ///
    /// With `limit` slots, each held for a mean of s, one comes back every s/limit, and the request needs `ahead + 1`
    /// of them (and those above a lowered limit). The first of them is due s/limit after the last change. Where it is
    /// overdue, it may come at any moment; but once none has come for longer than s, every slot that is out has been
    /// held for too long, and is expected to be held for about as long again as it is overdue. So a hung engine shows
    /// as a growing wait, and not as the cheerful one of its last good minute; a hiccup is not taken for the new
    /// normal. With nothing measured and nothing expected, nothing is predicted, and no request refused for it.
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

    private mutating func begin(_ client: Int) { shares.begin(client, hasWaiters: queue.waiting(of: client) > 0) }

    private mutating func takeSlot(at now: MonotonicInstant, waited: UInt64, _ claim: Claim) -> Grant {
        inFlight += 1
        if claim.isLong { longInFlight += 1 }
        lastChange = max(lastChange, now)
        counters.mostInFlight = max(counters.mostInFlight, inFlight)
        let cost = max(claim.work, Self.clamped(service.nanoseconds))
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
        expiries.sweep(live: queue.count) { [queue] in queue.contains($0) }
        expiries.insert(ExpiryHeap.Entry(at: expiry, ticket: ticket))
        counters.mostWaiting = max(counters.mostWaiting, queue.count)
        return ticket
    }

    private mutating func grantFreeSlots(at now: MonotonicInstant, _ effects: inout LimiterEffects<Waiter>) {
        while inFlight < configuration.limit, let ticket = next(at: now) {
            let arrival = queue.arrival(of: ticket)
            let waited = now.nanoseconds(since: arrival.at)
            counters.admittedAfterWait &+= 1
            counters.waitedNanoseconds &+= waited
            end(ticket, .success(takeSlot(at: now, waited: waited, arrival.claim)), &effects)
        }
    }

    /// The waiter that gets the slot that is free.
    private mutating func next(at now: MonotonicInstant) -> WaiterTicket? {
        let allowsLong = longInFlight < mostLong
        let turn = queue.next(allowingLong: allowsLong)
        if let aside = queue.oldestAside(allowingLong: allowsLong) {
            passedOver += 1
            if turn == nil || passedOver >= Self.slotsPerAside {
                passedOver = 0
                return aside
            }
        }
        guard let turn, let oldest = queue.oldest(of: turn) else { return nil }
        guard overload.prefersYoung(over: now.nanoseconds(since: queue.arrival(of: oldest).at), at: now) else {
            return oldest
        }
        let timeToWait = overload.timeToWait(service: service.nanoseconds)
        // Of all, where its client's turn is as early: clients that send one request each share the time as those of
        // one client do.
        if let young = queue.oldest(since: now.advanced(by: .zero - timeToWait)) ?? queue.newest,
            let other = queue.turn(of: young), other.start <= turn.start,
            allowsLong || !queue.arrival(of: young).claim.isLong
        {
            return young
        }
        return queue.newest(of: turn)
    }

    /// Tells the detector of overload what a request that comes now finds.
    private mutating func showQueue(at now: MonotonicInstant) {
        let withTurns = queue.count - queue.aside, capacity = configuration.effectiveCapacity
        overload.foundQueue(
            wait: predictedWaitNanoseconds(ahead: withTurns, at: now),
            isNearlyFull: withTurns >= capacity - capacity / 5, at: now)
    }

    /// Refuses an arrival. A refusal because the queue is full may be the sign of overload.
    private mutating func refuse(
        _ error: AdmissionError, at now: MonotonicInstant, _ effects: inout LimiterEffects<Waiter>
    ) -> AdmissionError {
        count(refusal: error)
        if case .queueFull = error, configuration.policy == .defer, overload.foundFull(at: now) {
            setAsideLate(at: now)
        }
        guard case .overloaded(let wait, _) = error else { return error }
        return .overloaded(predictedWait: wait, retryAfter: overload.retryAfter())
    }

    /// Overload begins: of those who wait, the youngest whose answers are predicted within the target keep their turns.
    /// The others were accepted and are answered too, but no longer keep the others from being answered in time.
    private mutating func setAsideLate(at now: MonotonicInstant) {
        guard configuration.policy == .defer else { return }
        while let oldest = queue.oldest,
            Double(predictedWaitNanoseconds(ahead: queue.count - queue.aside - 1, at: now)) > longestWait
        {
            queue.setAside(oldest)
        }
    }

    /// Waiters whose time is up leave. Before any other decision, so that none is given a slot, keeps a place from an
    /// arrival, or has its fate hang on how punctual a timer is.
    private mutating func expireDue(at now: MonotonicInstant) -> LimiterEffects<Waiter> {
        var effects = LimiterEffects<Waiter>()
        while let first = expiries.first, first.at <= now {
            expiries.removeFirst()
            guard queue.contains(first.ticket) else { continue }
            let arrival = queue.arrival(of: first.ticket)
            let waited = now.nanoseconds(since: arrival.at)
            leave(
                first.ticket,
                arrival.expiresByDeadline ? .deadlineExceeded : .waitTimedOut(.nanoseconds(clamping: waited)), &effects)
            if overload.departed(after: waited, at: now) { setAsideLate(at: now) }
        }
        return effects
    }

    private mutating func leave(
        _ ticket: WaiterTicket, _ error: AdmissionError, _ effects: inout LimiterEffects<Waiter>
    ) {
        count(departure: error)
        shares.end(queue.arrival(of: ticket).claim.client)
        end(ticket, .failure(error), &effects)
    }

    private mutating func end(
        _ ticket: WaiterTicket, _ outcome: WaitOutcome, _ effects: inout LimiterEffects<Waiter>
    ) {
        guard let waiter = queue.resolve(ticket, with: outcome) else { return }
        effects.resume.append((waiter, outcome))
    }

    /// Asks for a timer if the earliest expiry comes before the one asked for. A timer that is set too early is left
    /// alone and asks again when it goes off: as waiters mostly leave for a slot, and later comers expire later, that
    /// is one timer per longest wait, not one per request.
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
        case .displaced: counters.leftDisplaced &+= 1
        case .draining: counters.leftDraining &+= 1
        case .cancelled: counters.leftCancelled &+= 1
        case .queueFull, .overloaded, .deadlineUnreachable: assertionFailure("not a departure")
        }
    }
}

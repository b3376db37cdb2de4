package import SystemSupport
/// Decides when the queue is bounded by its capacity and when by time.
///
///            the queue is nearly full after more than a second of growth,
///            or requests are refused for 250 ms because it is full,
///            or many waiters leave; and more arrive than are answered
///     ┌────────┐ ──────────────────────────────────────────────▶ ┌────────────┐
///     │ normal │                                                 │ overloaded │
///     └────────┘ ◀────────────────────────────────────────────── └────────────┘
///                  no more arrive than are answered, for one second;
///                  or nobody has held a slot for 100 ms
///
/// Normal: the queue is bounded by its capacity, first come, first served; a closed loop of 200 clients is never
/// refused. While more arrive than are answered and the oldest waiter is late already, the oldest goes first that can
/// still be answered in time. Overloaded: a request is admitted only if its answer is predicted within the target. All
/// waiters are then answered in time, and the others are refused at once. Those who wait when overload begins are
/// answered too, in between.
package struct OverloadDetector: Sendable {
    /// The time that a wait and a service may take together while overloaded, in nanoseconds; 0: never overloaded.
    package let target: UInt64
    package private(set) var isOverloaded = false
    /// Since when nobody holds a slot.
    private var idleSince: MonotonicInstant?
    private var meter = LoadMeter(window: 5e8)
    /// The same over a shorter time, so that it recovers quickly from a burst.
    private var recent = LoadMeter(window: 1.5e8)
    /// The same over a longer time: finds a load that is only a little too high, which the noise of single requests
    /// hides over a shorter one.
    private var steady = LoadMeter(window: 2e9)
    /// Since when requests have been refused because the queue is full, and the last time.
    private var fullSince: MonotonicInstant?
    private var lastFull = MonotonicInstant(nanoseconds: 0)
    /// Since when each request that comes has had to wait for a while.
    private var queuedSince: MonotonicInstant?
    /// Since when no more requests arrive than are answered.
    private var settledSince: MonotonicInstant?
    private var refusals: UInt64 = 0
    /// The number of times a younger one went before a waiter that has waited for far too long, since the last time
    /// that none did.
    private var passedOver = 0

    /// A single burst fills the queue for a moment; overload keeps it full.
    private static let fullLongEnough: UInt64 = 250_000_000
    /// A burst is over within a second; a queue that still grows then is fed by more requests than are answered.
    private static let queuedLongEnough: UInt64 = 1_200_000_000
    /// A queue begins with a wait of this part of the target: shorter ones come and go under any load.
    private static let shortPart: UInt64 = 8
    /// With a longer wait than this many targets, most of those who wait are late whatever is done.
    private static let savable: UInt64 = 2
    private static let settledLongEnough: UInt64 = 1_000_000_000
    /// Nobody holds a slot for that long under overload, where the next request waits already.
    private static let idleLongEnough: UInt64 = 100_000_000
    /// A wait of this many targets is far too long.
    private static let farTooLong: UInt64 = 5
    private static let turnsOfTheYoung = 4
    /// The share of the target that predictions aim at, so that slower requests are still within the target.
    private static let share = 0.8

    package init(target: Duration) {
        self.init(target: target.saturatedNanoseconds.magnitude, refusals: 0)
    }

    private init(target: UInt64, refusals: UInt64) {
        self.target = target
        self.refusals = refusals
    }

    /// The same load under another target.
    package func retargeted(to target: Duration) -> OverloadDetector {
        var other = OverloadDetector(target: target)
        other.meter = meter
        other.recent = recent
        other.steady = steady
        return other
    }

    package var isOn: Bool { target > 0 }

    // MARK: Events

    package mutating func arrived(at now: MonotonicInstant) {
        guard isOn else { return }
        if let since = idleSince {
            idleSince = nil
            // What came before the silence tells nothing of what comes after it.
            if now.nanoseconds(since: since) >= Self.idleLongEnough {
                self = OverloadDetector(target: target, refusals: refusals)
            }
        }
        meter.arrived(at: now)
        recent.arrived(at: now)
        steady.arrived(at: now)
        settle(at: now)
    }

    package mutating func completed(at now: MonotonicInstant, interval: Double) {
        guard isOn else { return }
        meter.completed(at: now, interval: interval)
        recent.completed(at: now, interval: interval)
        steady.completed(at: now, interval: interval)
        settle(at: now)
    }

    /// A request was refused because the queue is full. True: from now on this is overload.
    package mutating func foundFull(at now: MonotonicInstant) -> Bool {
        guard isOn, !isOverloaded else { return false }
        if now.nanoseconds(since: lastFull) > Self.fullLongEnough { fullSince = now }
        lastFull = max(lastFull, now)
        let since = fullSince ?? now
        fullSince = since
        return now.nanoseconds(since: since) >= Self.fullLongEnough && enter(at: now)
    }

    /// A request comes that would wait for `wait` nanoseconds. If the queue has grown for more than a second, is nearly
    /// full, and its wait is over the target, it is overload from now on: those who wait can still be answered nearly
    /// in time, if no more join them. Bursts are over by then, and fewer clients than the queue has places cannot fill
    /// it.
    package mutating func foundQueue(wait: UInt64, isNearlyFull: Bool, at now: MonotonicInstant) {
        guard isOn, wait > target / Self.shortPart else {
            queuedSince = nil
            return
        }
        let since = queuedSince ?? now
        queuedSince = since
        guard !isOverloaded, isNearlyFull, wait > target, wait / Self.savable <= target,
            now.nanoseconds(since: since) >= Self.queuedLongEnough,
            recent.isGrowing(at: now), steady.isGrowing(at: now)
        else { return }
        _ = enter(at: now)
    }

    /// The last slot came back, and nobody waits.
    package mutating func becameIdle(at now: MonotonicInstant) {
        idleSince = now
    }

    /// A waiter left without a slot after `waited` nanoseconds. True: from now on it is overload.
    package mutating func departed(after waited: UInt64, at now: MonotonicInstant) -> Bool {
        guard isOn, waited > target else { return false }
        meter.departed(at: now)
        return !isOverloaded && meter.losesPatience(at: now) && enter(at: now)
    }

    private mutating func enter(at now: MonotonicInstant) -> Bool {
        guard meter.isGrowing(at: now) else { return false }
        isOverloaded = true
        settledSince = nil
        return true
    }

    private mutating func settle(at now: MonotonicInstant) {
        guard isOverloaded else { return }
        guard meter.isSettled(at: now) else {
            settledSince = nil
            return
        }
        let since = settledSince ?? now
        settledSince = since
        guard now.nanoseconds(since: since) >= Self.settledLongEnough else { return }
        isOverloaded = false
        fullSince = nil
        settledSince = nil
    }

    // MARK: Answers

    /// True if a waiter that can still be answered in time should go before one that has waited `waited` nanoseconds.
    /// Each fourth time not, where that is far too long: patient clients whose number only grows are not passed over
    /// without end.
    package mutating func prefersYoung(over waited: UInt64, at now: MonotonicInstant) -> Bool {
        guard isOn, !isOverloaded, waited > target else { return false }
        guard recent.isGrowing(at: now) || !meter.isSettled(at: now) && steady.isGrowing(by: 0.03, at: now) else {
            return false
        }
        guard waited / Self.farTooLong > target else { return true }
        passedOver = (passedOver + 1) % Self.turnsOfTheYoung
        return passedOver > 0
    }

    /// The longest wait after which a request that takes `service` nanoseconds is still answered within the target.
    package func timeToWait(service: Double) -> Duration {
        .nanoseconds(Int64(min(max(Double(target) - service, 0), 3.6e12)))
    }

    /// The longest predicted wait with which a request is admitted while overloaded, given the mean time that a slot is
    /// held and the mean time between two that come back. One may always wait: else slots would stand empty.
    package func longestWait(service: Double, interval: Double) -> Double {
        max(Double(target) * Self.share - service, interval)
    }

    /// The time when a client that is refused should come again: in 1 s at least, and later the more requests come for
    /// each that is done, spread so that those who are refused together do not return together.
    package mutating func retryAfter() -> Duration {
        refusals &+= 1
        // The golden ratio's multiples are spread evenly, however many there are.
        let spread = (Double(refusals % 1_000_003) * 0.618_033_988_749_895).truncatingRemainder(dividingBy: 1)
        let range = min(max(meter.pressure, 1), 30)
        return .seconds(1 + Int(spread * range))
    }
}

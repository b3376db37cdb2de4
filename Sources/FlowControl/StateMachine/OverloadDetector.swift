package import SystemSupport
/// Decides whether the queue is bounded by its capacity or by time.
///
///            the queue is nearly full after more than a second of growth,
///            or requests are refused for 250 ms because it is full,
///            or many waiters leave; and more arrive than are answered
///     ┌────────┐ ──────────────────────────────────────────────▶ ┌────────────┐
///     │ normal │                                                 │ overloaded │
///     └────────┘ ◀────────────────────────────────────────────── └────────────┘
///                  no more arrive than are answered, for one second;
///                  or no slot has been in use for 100 ms
///
/// Normal: the queue is bounded by its capacity, first come, first served; a closed loop of 200 clients is never
/// refused. If more requests arrive than are answered and the oldest waiter is late already, the oldest that can still
/// be answered in time goes first. Overloaded: a request is admitted only if its answer is predicted within the target.
/// All waiters are then answered in time, and other requests are refused at once. Requests that were waiting when
/// overload began are answered in between.
package struct OverloadDetector: Sendable {
    /// The maximum time of wait and service together while overloaded, in nanoseconds; 0: never overloaded.
    package let target: UInt64
    package private(set) var isOverloaded = false
    /// The time since which no slot is in use.
    private var idleSince: MonotonicInstant?
    private var meter = LoadMeter(window: 5e8)
    /// Measures over a shorter time, to recover quickly from a burst.
    private var recent = LoadMeter(window: 1.5e8)
    /// Measures over a longer time, to find a load only slightly too high, which the noise of single requests hides
    /// over a shorter time.
    private var steady = LoadMeter(window: 2e9)
    /// The time since which requests are refused because the queue is full, and the time of the last refusal.
    private var fullSince: MonotonicInstant?
    private var lastFull = MonotonicInstant(nanoseconds: 0)
    /// The time since which every arriving request must wait for more than a short time.
    private var queuedSince: MonotonicInstant?
    /// The time since which no more requests arrive than are answered.
    private var stableSince: MonotonicInstant?
    private var refusals: UInt64 = 0
    /// The number of times, modulo `youngTurns`, that a younger waiter went before one with a far too long wait.
    private var passedOver = 0

    /// The minimum time, in nanoseconds, for which the queue must be full: a single burst fills it only briefly.
    private static let fullLongEnough: UInt64 = 250_000_000
    /// The minimum time, in nanoseconds, for which a queue must exist: a burst is over within a second, so a queue that
    /// still grows has more arrivals than answers.
    private static let queuedLongEnough: UInt64 = 1_200_000_000
    /// A queue begins at a wait of the target divided by this: shorter ones come and go under any load.
    private static let shortPart: UInt64 = 8
    /// If the wait exceeds this many targets, most waiters are late in any case.
    private static let savable: UInt64 = 2
    private static let stableLongEnough: UInt64 = 1_000_000_000
    /// The minimum time, in nanoseconds, without a slot in use that ends overload: under overload, the next request
    /// waits already.
    private static let idleLongEnough: UInt64 = 100_000_000
    /// A wait of this many targets is far too long.
    private static let farTooLong: UInt64 = 5
    private static let youngTurns = 4
    /// The fraction of the target that predictions aim at, so that slower requests are still within the target.
    private static let share = 0.8

    package init(target: Duration) {
        self.init(target: target.saturatedNanoseconds.magnitude, refusals: 0)
    }

    private init(target: UInt64, refusals: UInt64) {
        self.target = target
        self.refusals = refusals
    }

    /// A detector with another target, for the same load.
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
            // Events before an idle period say nothing about the load after it.
            if now.nanoseconds(since: since) >= Self.idleLongEnough {
                self = OverloadDetector(target: target, refusals: refusals)
            }
        }
        meter.arrived(at: now)
        recent.arrived(at: now)
        steady.arrived(at: now)
        leaveIfStable(at: now)
    }

    package mutating func completed(at now: MonotonicInstant, interval: Double) {
        guard isOn else { return }
        meter.completed(at: now, interval: interval)
        recent.completed(at: now, interval: interval)
        steady.completed(at: now, interval: interval)
        leaveIfStable(at: now)
    }

    /// Records that a request was refused because the queue is full. Returns true if overload begins.
    package mutating func foundFull(at now: MonotonicInstant) -> Bool {
        guard isOn, !isOverloaded else { return false }
        if now.nanoseconds(since: lastFull) > Self.fullLongEnough { fullSince = now }
        lastFull = max(lastFull, now)
        let since = fullSince ?? now
        fullSince = since
        return now.nanoseconds(since: since) >= Self.fullLongEnough && enter(at: now)
    }

    /// Records the queue that an arriving request finds: it would wait for `wait` nanoseconds. Overload begins if the
    /// queue has grown for more than a second, is nearly full, and its wait exceeds the target: the waiters can still
    /// be answered nearly in time if no more join them. Bursts are over by then, and fewer clients than places in the
    /// queue cannot fill it.
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

    /// Records that the last slot was released, and no request waits.
    package mutating func becameIdle(at now: MonotonicInstant) {
        idleSince = now
    }

    /// Records that a waiter left without a slot after `waited` nanoseconds. Returns true if overload begins.
    package mutating func departed(after waited: UInt64, at now: MonotonicInstant) -> Bool {
        guard isOn, waited > target else { return false }
        meter.departed(at: now)
        return !isOverloaded && meter.isAbandoned(at: now) && enter(at: now)
    }

    private mutating func enter(at now: MonotonicInstant) -> Bool {
        guard meter.isGrowing(at: now) else { return false }
        isOverloaded = true
        stableSince = nil
        return true
    }

    private mutating func leaveIfStable(at now: MonotonicInstant) {
        guard isOverloaded else { return }
        guard meter.isStable(at: now) else {
            stableSince = nil
            return
        }
        let since = stableSince ?? now
        stableSince = since
        guard now.nanoseconds(since: since) >= Self.stableLongEnough else { return }
        isOverloaded = false
        fullSince = nil
        stableSince = nil
    }

    // MARK: Queries

    /// True if a waiter that can still be answered in time should go before one that has waited `waited` nanoseconds.
    /// If that wait is far too long, every fourth call returns false, so that patient clients whose number only grows
    /// are not starved.
    package mutating func prefersYounger(over waited: UInt64, at now: MonotonicInstant) -> Bool {
        guard isOn, !isOverloaded, waited > target else { return false }
        guard recent.isGrowing(at: now) || !meter.isStable(at: now) && steady.isGrowing(by: 0.03, at: now) else {
            return false
        }
        guard waited / Self.farTooLong > target else { return true }
        passedOver = (passedOver + 1) % Self.youngTurns
        return passedOver > 0
    }

    /// The maximum wait after which a request with `service` nanoseconds of service is still answered within the
    /// target.
    package func timeToWait(service: Double) -> Duration {
        .nanoseconds(Int64(min(max(Double(target) - service, 0), 3.6e12)))
    }

    /// The maximum predicted wait of requests admitted while overloaded, given the mean time for which a slot is held
    /// and the mean time between two releases. At least one request may always wait; otherwise slots would stay unused.
    package func longestWait(service: Double, interval: Double) -> Double {
        max(Double(target) * Self.share - service, interval)
    }

    /// The time after which a refused client should retry: at least 1 s, and longer the more arrivals exceed
    /// completions; spread, so that clients refused together do not return together.
    package mutating func retryAfter() -> Duration {
        refusals &+= 1
        // Multiples of the golden ratio are spread evenly, for any number of them.
        let spread = (Double(refusals % 1_000_003) * 0.618_033_988_749_895).truncatingRemainder(dividingBy: 1)
        let range = min(max(meter.pressure, 1), 30)
        return .seconds(1 + Int(spread * range))
    }
}

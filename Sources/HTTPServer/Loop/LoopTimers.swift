/// The deadlines of connections, and those that have passed: they are handled a bounded number per turn.
struct LoopTimers {
    var wheel: TimerWheel
    /// Connections whose timer has expired, and the number of them that were handled.
    private var expired: [Int32] = []
    private var done = 0
    /// The number of them that are handled by the end of this turn.
    private var end = 0

    /// No deadlines.
    init(now: UInt64) { wheel = TimerWheel(now: now) }

    /// True if expired timers are left for the next turn.
    var isBehind: Bool { expired.count > 0 }

    /// Begins a turn, in which at most 256 expired timers are handled.
    mutating func beginTurn(now: UInt64) {
        wheel.expire(now: now, into: &expired)
        end = min(expired.count, done + 256)
    }

    /// The next expired timer of this turn.
    mutating func next() -> Int32? {
        if done < end {
            defer { done += 1 }
            return expired[done]
        }
        guard done == expired.count else { return nil }
        expired.removeAll(keepingCapacity: true)
        (done, end) = (0, 0)
        return nil
    }
}

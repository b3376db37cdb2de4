/// The times at which the requests of an open loop are due: at a constant rate from a start, whatever becomes of those
/// before it.
///
/// Latency counts from these times, and not from when a request could at last be sent: a server that stands still for a
/// second makes all requests of that second late, and a client that waits politely would have seen one ("coordinated
/// omission", Gil Tene).
package struct SendSchedule: Sendable, Hashable {
    /// The time when request 0 is due, in nanoseconds.
    package let start: UInt64
    /// Requests a second.
    package let rate: Double

    package init(start: UInt64, rate: Double) {
        self.start = start
        self.rate = rate
    }

    /// The time when a request is due. Counted from the start each time, so that rounding does not add up.
    package func time(of index: Int) -> UInt64 {
        let offset = Double(index) * 1e9 / rate
        return start &+ (offset < 0x1p62 ? UInt64(offset) : 1 << 62)
    }

    /// The number of requests that are due by a time.
    package func due(by now: UInt64) -> Int {
        guard now >= start else { return 0 }
        var count = Int(min(Double(now - start) * rate / 1e9, 0x1p52)) + 1
        // The estimate and `time(of:)` round apart by at most one.
        while count > 0, time(of: count - 1) > now { count -= 1 }
        while time(of: count) <= now { count += 1 }
        return count
    }

    /// The number of requests that are due before a time: those of a run that ends then.
    package func count(before end: UInt64) -> Int { end > start ? due(by: end - 1) : 0 }
}

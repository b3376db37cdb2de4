/// The due times of the requests of an open loop: at a constant rate from a start, independent of earlier answers.
///
/// Latency counts from these times, not from the time of sending: if a server stalls for a second, all requests of that
/// second are late, but a client that waits for each answer would see only one late request ("coordinated omission",
/// Gil Tene).
package struct SendSchedule: Sendable, Hashable {
    /// The due time of request 0, in nanoseconds.
    package let start: UInt64
    /// Requests per second.
    package let rate: Double

    package init(start: UInt64, rate: Double) {
        self.start = start
        self.rate = rate
    }

    /// The due time of a request, computed from the start, so that rounding errors do not accumulate.
    package func time(of index: Int) -> UInt64 {
        let offset = Double(index) * 1e9 / rate
        return start &+ (offset < 0x1p62 ? UInt64(offset) : 1 << 62)
    }

    /// The number of requests due up to and including a time.
    package func due(by now: UInt64) -> Int {
        guard now >= start else { return 0 }
        var count = Int(min(Double(now - start) * rate / 1e9, 0x1p52)) + 1
        // Rounding differs between the estimate and `time(of:)` by at most one.
        while count > 0, time(of: count - 1) > now { count -= 1 }
        while time(of: count) <= now { count += 1 }
        return count
    }

    /// The number of requests due before a time: those of a run that ends then.
    package func count(before end: UInt64) -> Int { end > start ? due(by: end - 1) : 0 }
}

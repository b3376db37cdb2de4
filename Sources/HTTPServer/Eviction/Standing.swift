/// The facts about a connection that decide when it is closed for others: its progress, and the bytes of answers that
/// its client has not taken. All times are those of the event loop, in nanoseconds.
package struct Standing: Sendable {
    /// The start of the current measurement of progress: the time when the body last brought, or the client last took,
    /// a whole `EvictionMachine.piece`. For an idle connection or one with half a head: the time when it became idle.
    package internal(set) var progressAt: UInt64 = 0
    /// The bytes received or taken since `progressAt`.
    var sinceProgress = 0

    /// The number of bytes in the kernel's send buffer when it was last measured.
    package internal(set) var queued = 0
    /// The number of bytes given to the kernel since then.
    var handed = 0
    /// The time when the client was last seen to take bytes, or when the first unread bytes were sent to it.
    package internal(set) var lastReadAt: UInt64 = 0
    /// The bytes of answers, in this process and in the kernel, that are counted in the budget for answers.
    package internal(set) var held = 0

    /// True for a few bytes that were sent, or taken in part, within the last second: they are probably in flight to a
    /// client that reads, so other connections are closed first.
    func readsSlowly(now: UInt64) -> Bool {
        held < EvictionMachine.piece && now &- lastReadAt < EvictionMachine.slowAfter
    }

    /// Counts `count` bytes that were given to the kernel.
    mutating func hand(_ count: Int, now: UInt64) {
        if queued + handed == 0 { lastReadAt = now }
        handed += count
    }

    /// Takes the measured bytes in the kernel. Returns the number that the client has taken since the last measurement.
    mutating func measure(_ queued: Int, now: UInt64) -> Int {
        let taken = self.queued + handed - queued
        (self.queued, handed) = (queued, 0)
        if taken > 0 { lastReadAt = now }
        return taken
    }

    /// Counts `count` bytes of progress. Returns true after a whole piece.
    mutating func progress(_ count: Int, now: UInt64) -> Bool {
        sinceProgress += count
        guard sinceProgress >= EvictionMachine.piece else { return false }
        (progressAt, sinceProgress) = (now, 0)
        return true
    }
}

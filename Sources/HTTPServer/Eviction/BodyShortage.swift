/// Decides when bodies are refused because others wait for room in the byte budget, and how slow a body must be, as a
/// value without I/O.
///
/// The slowest bodies are refused, a few per turn, while there is no room for all. The longer the shortage lasts, the
/// sooner a body counts as slow. If no memory is released although no body is slow, all bodies wait for each other;
/// then the one that has waited longest while it holds bytes is refused.
package struct BodyShortage: Sendable {
    /// The time without a release after which a waiting body is refused, in nanoseconds.
    private static let stuckAfter: UInt64 = 2_000_000_000

    /// The time of the next check; nil if no body waits.
    package private(set) var checkAt: UInt64?
    /// The number of checks in succession that found no room.
    private var shortages = 0
    /// `ByteBudget.releases` and the time of its last change.
    private var lastReleases = (count: 0, since: UInt64(0))

    /// No body waits.
    package init() {}

    /// A body found no room. `releases`: the number of releases of the budget.
    package mutating func began(releases: @autoclosure () -> Int, policy: ConnectionPolicy, now: UInt64) {
        guard checkAt == nil else { return }
        checkAt = now &+ policy.bodyMemoryTimeout
        lastReleases = (releases(), now)
    }

    /// True if it is time for a check.
    package func isDue(now: UInt64) -> Bool { checkAt.map { now >= $0 } ?? false }

    /// There is room, but `waiting` bodies have not got it yet: keeps the count of shortages until they have.
    package mutating func foundRoom(waiting: Int, policy: ConnectionPolicy, now: UInt64) {
        checkAt = waiting > 0 ? now &+ policy.bodyMemoryTimeout / 2 : nil
        if waiting == 0 { shortages = 0 }
    }

    /// There is still no room in a budget of `total` bytes. Returns the bodies that are refused now.
    package mutating func foundNone(releases: Int, total: Int, policy: ConnectionPolicy, now: UInt64) -> Round {
        let slowAfter = max(policy.bodyMemoryTimeout / 2, EvictionMachine.slowAfter >> UInt64(min(shortages, 8)))
        shortages += 1
        checkAt = now &+ policy.bodyMemoryTimeout / (shortages > 3 ? 4 : 2)
        if lastReleases.count != releases || lastReleases.since == 0 { lastReleases = (releases, now) }
        return Round(slowAfter: slowAfter, wanted: max(1 << 20, total / 4))
    }

    /// True if all bodies wait for each other: a round has freed nothing, and nothing was released for a while. Then it
    /// begins to wait again.
    package mutating func isStuck(after round: Round, now: UInt64) -> Bool {
        guard round.freed == 0, now &- lastReleases.since >= Self.stuckAfter else { return false }
        lastReleases.since = now
        return true
    }

    /// The bodies that are refused in one turn: slow ones, until a part of the budget is free. Many slow bodies would
    /// otherwise delay the waiting bodies behind them.
    package struct Round: Sendable {
        /// The time without progress after which a body is slow.
        package let slowAfter: UInt64
        let wanted: Int
        private var left = 256
        fileprivate var freed = 0

        fileprivate init(slowAfter: UInt64, wanted: Int) { (self.slowAfter, self.wanted) = (slowAfter, wanted) }

        /// The next body to refuse, unless its bytes are in the socket; nil at the end. The machine is not changed;
        /// it is passed in place because it is large.
        package mutating func next(in machine: inout EvictionMachine, now: UInt64) -> Int32? {
            guard freed < wanted, left > 0 else { return nil }
            left -= 1
            return machine.slowestBody(after: slowAfter, now: now)
        }

        /// A body was refused that held `bytes`.
        package mutating func refused(_ bytes: Int) { freed += bytes }
    }
}

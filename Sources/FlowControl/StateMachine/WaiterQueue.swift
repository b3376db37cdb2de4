package import SystemSupport

/// Names one waiter for as long as it waits: an entry in the queue's array and how often that entry was used before, so
/// that a ticket which outlives its waiter names nothing instead of a stranger.
package struct WaiterTicket: Sendable, Hashable {
    fileprivate let index: Int
    fileprivate let generation: UInt64
}

/// The waiters in order of arrival: a doubly linked list threaded through an array.
///
/// Leaving from the middle is O(1), entries are reused, and nothing is allocated once the array has grown to the longest
/// queue so far. A waiter goes through these stages:
///
///     free ──append──▶ arriving ──attach──▶ suspended ──resolve──▶ free     (its `Waiter` is handed out to be resumed)
///      ▲                  └──resolve──▶ resolved ──attach──┐
///      └───────────────────────────────────────────────────┘                (the outcome is handed to `attach`)
///
/// The second way is the race that must not lose a wake-up: a waiter gets its slot before it went to sleep.
package struct WaiterQueue<Waiter> {
    private enum Stage {
        case free
        case arriving
        case suspended(Waiter)
        case resolved(WaitOutcome)
    }

    private struct Entry {
        var generation: UInt64 = 0
        var stage = Stage.free
        var previous = none
        /// The next waiter; in a free entry, the next free entry.
        var next = none
        var arrivedAt: MonotonicInstant
        var expiresByDeadline: Bool
    }

    private static var none: Int { -1 }
    private var entries: [Entry] = []
    private var firstFree = none
    private var head = none
    private var tail = none

    /// How many wait.
    package private(set) var count = 0

    package init() {}

    /// The first and the last waiter.
    package var oldest: WaiterTicket? { ticket(at: head) }
    package var newest: WaiterTicket? { ticket(at: tail) }

    /// Whether the waiter is still in the queue.
    package func contains(_ ticket: WaiterTicket) -> Bool {
        guard entries.indices.contains(ticket.index), entries[ticket.index].generation == ticket.generation else {
            return false
        }
        switch entries[ticket.index].stage {
        case .arriving, .suspended: return true
        case .free, .resolved: return false
        }
    }

    /// When a waiter came, and whether it is its deadline that ends its wait. Only for one that `contains` affirms.
    package func arrival(of ticket: WaiterTicket) -> (at: MonotonicInstant, expiresByDeadline: Bool) {
        (entries[ticket.index].arrivedAt, entries[ticket.index].expiresByDeadline)
    }

    /// A new waiter at the end, in stage arriving: `attach` must follow, exactly once.
    package mutating func append(arrivedAt: MonotonicInstant, expiresByDeadline: Bool) -> WaiterTicket {
        let index = takeEntry(Entry(arrivedAt: arrivedAt, expiresByDeadline: expiresByDeadline))
        entries[index].stage = .arriving
        entries[index].previous = tail
        entries[index].next = Self.none
        if tail == Self.none { head = index } else { entries[tail].next = index }
        tail = index
        count += 1
        return WaiterTicket(index: index, generation: entries[index].generation)
    }

    /// The waiter goes to sleep: nil, or what its wait has ended with before it could.
    package mutating func attach(_ waiter: Waiter, to ticket: WaiterTicket) -> WaitOutcome? {
        switch entries[ticket.index].stage {
        case .arriving:
            entries[ticket.index].stage = .suspended(waiter)
            return nil
        case .resolved(let outcome):
            free(ticket.index)
            return outcome
        case .free, .suspended:
            assertionFailure("attached twice")
            return .failure(.cancelled)
        }
    }

    /// The wait ends: takes the waiter out of the queue. Returns whom to resume, or nil for one that is not asleep yet
    /// and finds the outcome at `attach`. Only for one that `contains` affirms.
    package mutating func resolve(_ ticket: WaiterTicket, with outcome: WaitOutcome) -> Waiter? {
        unlink(ticket.index)
        guard case .suspended(let waiter) = entries[ticket.index].stage else {
            entries[ticket.index].stage = .resolved(outcome)
            return nil
        }
        free(ticket.index)
        return waiter
    }

    /// The waiters from the oldest to the newest, found by walking the list both ways; nil if the two differ, or do
    /// not have `count` members that wait. For tests: O(n).
    package var tickets: [WaiterTicket]? {
        func walk(from start: Int, _ step: (Entry) -> Int) -> [WaiterTicket] {
            var found: [WaiterTicket] = []
            var index = start
            while let next = ticket(at: index), found.count <= count {
                found.append(next)
                index = step(entries[index])
            }
            return found
        }
        let forth = walk(from: head, \.next)
        guard forth.count == count, forth.allSatisfy(contains) else { return nil }
        return forth == walk(from: tail, \.previous).reversed() ? forth : nil
    }

    private func ticket(at index: Int) -> WaiterTicket? {
        index == Self.none ? nil : WaiterTicket(index: index, generation: entries[index].generation)
    }

    private mutating func takeEntry(_ entry: Entry) -> Int {
        guard firstFree != Self.none else {
            entries.append(entry)
            return entries.count - 1
        }
        let index = firstFree
        firstFree = entries[index].next
        let generation = entries[index].generation
        entries[index] = entry
        entries[index].generation = generation
        return index
    }

    private mutating func unlink(_ index: Int) {
        let (previous, next) = (entries[index].previous, entries[index].next)
        if previous == Self.none { head = next } else { entries[previous].next = next }
        if next == Self.none { tail = previous } else { entries[next].previous = previous }
        count -= 1
    }

    private mutating func free(_ index: Int) {
        entries[index].stage = .free
        entries[index].generation &+= 1
        entries[index].next = firstFree
        firstFree = index
    }
}

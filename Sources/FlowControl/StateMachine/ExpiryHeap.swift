package import SystemSupport

/// The waiters by the instant at which they must leave: a binary heap, with lazy deletion.
///
/// Waiters that got a slot or were cancelled stay behind as stale entries, which are dropped when they come to the top,
/// or all at once when they are more than half. So leaving costs nothing here, and needs no index from a waiter back
/// into the heap. Coming costs O(log n) at worst, and O(1) where later comers expire later, which is so unless their
/// own deadlines say otherwise; a sweep of n entries is paid for by the n/2 that left before it.
package struct ExpiryHeap: Sendable {
    package struct Entry: Sendable {
        package let at: MonotonicInstant
        package let ticket: WaiterTicket

        package init(at: MonotonicInstant, ticket: WaiterTicket) {
            self.at = at
            self.ticket = ticket
        }
    }

    package private(set) var entries: [Entry] = []

    package init() {}

    /// Entries held, stale ones too.
    package var count: Int { entries.count }

    /// The earliest entry, which may be stale.
    package var first: Entry? { entries.first }

    package mutating func insert(_ entry: Entry) {
        entries.append(entry)
        siftUp(from: entries.count - 1)
    }

    package mutating func removeFirst() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        siftDown(from: 0)
    }

    /// Drops the stale entries if they are more than half of all, given how many live ones there are.
    package mutating func sweep(live: Int, isLive: (WaiterTicket) -> Bool) {
        guard entries.count > 2 * live + 32 else { return }
        entries.removeAll { !isLive($0.ticket) }
        for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { siftDown(from: index) }
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].at < entries[parent].at else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in 2 * parent + 1...2 * parent + 2 where child < entries.count {
                if entries[child].at < entries[least].at { least = child }
            }
            guard least != parent else { return }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}

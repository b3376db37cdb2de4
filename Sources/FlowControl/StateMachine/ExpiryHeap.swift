package import SystemSupport

/// The waiters by their expiry: a binary heap with lazy deletion.
///
/// Entries of waiters that got a slot or were cancelled become stale. They are dropped when they reach the top, or all
/// together when they are more than half. So removal costs nothing here, and waiters need no index into the heap.
/// Insertion costs O(log n) at worst, and O(1) if later waiters expire later, which holds unless their own deadlines
/// differ; a sweep of n entries is amortized over the n/2 that left before it.
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

    /// The number of entries, including stale ones.
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

    /// Drops the stale entries if they are more than half of all, given the number of live ones.
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
            var minimum = parent
            for child in 2 * parent + 1...2 * parent + 2 where child < entries.count {
                if entries[child].at < entries[minimum].at { minimum = child }
            }
            guard minimum != parent else { return }
            entries.swapAt(parent, minimum)
            parent = minimum
        }
    }
}

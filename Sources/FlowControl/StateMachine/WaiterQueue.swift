package import SystemSupport

/// Names one waiter for as long as it waits: a place in the queue's array and how often that place was used before, so
/// that a ticket which outlives its waiter names nothing instead of a stranger.
package struct WaiterTicket: Sendable, Hashable {
    fileprivate let index: Int
    fileprivate let generation: UInt64
}

/// The waiters in order of arrival: a doubly linked list threaded through an array.
///
/// Leaving from the middle is O(1), places are reused, and nothing is allocated once the array has grown to the longest
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

    private struct Place {
        var generation: UInt64 = 0
        var stage = Stage.free
        var previous = none
        /// The next waiter; in a free place, the next free place.
        var next = none
        var arrivedAt: MonotonicInstant
        var expiresByDeadline: Bool
    }

    private static var none: Int { -1 }
    private var places: [Place] = []
    private var firstFree = none
    private var head = none
    private var tail = none

    /// How many wait.
    package private(set) var count = 0

    package init() {}

    /// Who came first, and who last.
    package var oldest: WaiterTicket? { ticket(at: head) }
    package var newest: WaiterTicket? { ticket(at: tail) }

    /// Whether the waiter is still in the queue.
    package func contains(_ ticket: WaiterTicket) -> Bool {
        guard places.indices.contains(ticket.index), places[ticket.index].generation == ticket.generation else {
            return false
        }
        switch places[ticket.index].stage {
        case .arriving, .suspended: return true
        case .free, .resolved: return false
        }
    }

    /// When a waiter came, and whether it is its deadline that ends its wait. Only for one that `contains` affirms.
    package func arrival(of ticket: WaiterTicket) -> (at: MonotonicInstant, expiresByDeadline: Bool) {
        (places[ticket.index].arrivedAt, places[ticket.index].expiresByDeadline)
    }

    /// A new waiter at the end, in stage arriving: `attach` must follow, exactly once.
    package mutating func append(arrivedAt: MonotonicInstant, expiresByDeadline: Bool) -> WaiterTicket {
        let index = takePlace(Place(arrivedAt: arrivedAt, expiresByDeadline: expiresByDeadline))
        places[index].stage = .arriving
        places[index].previous = tail
        places[index].next = Self.none
        if tail == Self.none { head = index } else { places[tail].next = index }
        tail = index
        count += 1
        return WaiterTicket(index: index, generation: places[index].generation)
    }

    /// The waiter goes to sleep: nil, or what its wait has ended with before it could.
    package mutating func attach(_ waiter: Waiter, to ticket: WaiterTicket) -> WaitOutcome? {
        switch places[ticket.index].stage {
        case .arriving:
            places[ticket.index].stage = .suspended(waiter)
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
        guard case .suspended(let waiter) = places[ticket.index].stage else {
            places[ticket.index].stage = .resolved(outcome)
            return nil
        }
        free(ticket.index)
        return waiter
    }

    /// The waiters from the oldest to the newest, found by walking the list both ways; nil where the two differ, or do
    /// not have `count` members that wait. For tests: O(n).
    package var tickets: [WaiterTicket]? {
        func walk(from start: Int, _ step: (Place) -> Int) -> [WaiterTicket] {
            var found: [WaiterTicket] = []
            var index = start
            while let next = ticket(at: index), found.count <= count {
                found.append(next)
                index = step(places[index])
            }
            return found
        }
        let forth = walk(from: head, \.next)
        guard forth.count == count, forth.allSatisfy(contains) else { return nil }
        return forth == walk(from: tail, \.previous).reversed() ? forth : nil
    }

    private func ticket(at index: Int) -> WaiterTicket? {
        index == Self.none ? nil : WaiterTicket(index: index, generation: places[index].generation)
    }

    private mutating func takePlace(_ place: Place) -> Int {
        guard firstFree != Self.none else {
            places.append(place)
            return places.count - 1
        }
        let index = firstFree
        firstFree = places[index].next
        let generation = places[index].generation
        places[index] = place
        places[index].generation = generation
        return index
    }

    private mutating func unlink(_ index: Int) {
        let (previous, next) = (places[index].previous, places[index].next)
        if previous == Self.none { head = next } else { places[previous].next = next }
        if next == Self.none { tail = previous } else { places[next].previous = previous }
        count -= 1
    }

    private mutating func free(_ index: Int) {
        places[index].stage = .free
        places[index].generation &+= 1
        places[index].next = firstFree
        firstFree = index
    }
}

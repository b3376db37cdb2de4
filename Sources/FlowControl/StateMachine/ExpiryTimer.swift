package import SystemSupport

/// The expiries of the waiters, and the timer for the earliest of them.
///
/// A timer that is too early is kept and renewed when it fires: since most waiters leave for a slot, and later ones
/// expire later, that is one timer for each maximum wait, not one for each request.
package struct ExpiryTimer: Sendable {
    package private(set) var heap = ExpiryHeap()
    /// The timer that will fire; nil if none was requested since the last one.
    package private(set) var armed: TimerRequest?
    private var epoch: UInt64 = 0

    package init() {}

    /// Adds a waiter of `queue`.
    package mutating func insert<Waiter>(
        _ ticket: WaiterTicket, at expiry: MonotonicInstant, of queue: WaiterQueue<Waiter>
    ) {
        heap.sweep(live: queue.count) { queue.contains($0) }
        heap.insert(ExpiryHeap.Entry(at: expiry, ticket: ticket))
    }

    /// Removes and returns the next ticket that expires at `now` or before. Its waiter may have left already.
    package mutating func nextDue(at now: MonotonicInstant) -> WaiterTicket? {
        guard let first = heap.first, first.at <= now else { return nil }
        heap.removeFirst()
        return first.ticket
    }

    /// The timer that must be set, if the earliest expiry is before the one that is armed.
    package mutating func arm<Waiter>(for queue: WaiterQueue<Waiter>) -> TimerRequest? {
        while let first = heap.first, !queue.contains(first.ticket) { heap.removeFirst() }
        guard let next = heap.first?.at, armed.map({ next < $0.at }) ?? true else { return nil }
        epoch &+= 1
        armed = TimerRequest(at: next, epoch: epoch)
        return armed
    }

    /// The timer of an epoch fires. Returns false if a later one has replaced it.
    package mutating func fired(epoch: UInt64) -> Bool {
        guard epoch == self.epoch else { return false }
        armed = nil
        return true
    }
}

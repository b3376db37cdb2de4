/// The connections whose bodies wait for room in the byte budget, in the order in which they are retried.
///
/// Three queues (small or complete bodies (`ByteBudget.Claim.small`, `.arrived`), large bodies that have begun, and
/// large bodies that have not) take turns; each is first in, first out. So a small body does not wait behind a thousand
/// large ones, a body that continues does not wait behind a thousand that would begin, and no queue starves the others.
package struct WaitingBodies: Sendable {
    /// The queues: small or complete bodies, large ones that have begun, large ones that have not.
    private var queues = [IndexQueue(), IndexQueue(), IndexQueue()]
    /// The number of bodies of each queue that are still to be retried in this round.
    private var toRetry = [0, 0, 0]
    /// The number of bodies of each queue that found too little room in this round.
    private var refused = [0, 0, 0]
    /// The queue of the last body that was retried.
    private var last = 2

    /// The maximum of refused retries per queue and round. It is high, because any of them may be the body that may
    /// overdraw, and a smaller body may fit where a larger one does not.
    private static let maximumRefused = 32

    /// An empty set.
    package init() {}

    /// The number of bodies that wait.
    package var count: Int { queues[0].count + queues[1].count + queues[2].count }

    /// True if a body can be retried in this round.
    package var isAsking: Bool { toRetry[0] + toRetry[1] + toRetry[2] > 0 }

    /// Appends `id` to the queue for its claim, and removes it from the others.
    package mutating func append(_ id: Int32, _ claim: ByteBudget.Claim) {
        let own = claim == .large ? 1 : claim == .beginning ? 2 : 0
        for queue in queues.indices where queue != own { queues[queue].remove(id) }
        queues[own].append(id)
    }

    /// Removes `id`, if it waits.
    package mutating func remove(_ id: Int32) {
        for queue in queues.indices { queues[queue].remove(id) }
    }

    /// Begins a new round, because there is room again: every waiting body is retried.
    package mutating func memoryFreed() {
        toRetry = queues.map(\.count)
        refused = [0, 0, 0]
    }

    /// Removes and returns the next body to retry.
    package mutating func next() -> Int32? {
        for step in 1...queues.count {
            let queue = (last + step) % queues.count
            guard toRetry[queue] > 0 else { continue }
            last = queue
            toRetry[queue] -= 1
            if let id = queues[queue].popFirst() { return id }
            toRetry[queue] = 0
        }
        return nil
    }

    /// Counts a refusal of the last body from `next`, which is at the end of a queue again.
    package mutating func lastWasRefused() {
        refused[last] += 1
        if refused[last] >= Self.maximumRefused { toRetry[last] = 0 }
    }

    /// The first body for which `condition` is true: of the large ones that have begun, then of those that have not,
    /// then of the others.
    package func first(where condition: (Int32) -> Bool) -> Int32? {
        for queue in [1, 2, 0] {
            var id = queues[queue].first
            while let found = id {
                if condition(found) { return found }
                id = queues[queue].after(found)
            }
        }
        return nil
    }
}

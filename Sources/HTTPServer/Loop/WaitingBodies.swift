/// The connections whose bodies wait for room in the byte budget, and the order in which they are asked when there is
/// some.
///
/// Bodies that need little (`ByteBudget.Claim.small`, `.arrived`), large ones that have begun, and large ones that have
/// not, wait in three queues, each in the order in which they came, and are asked in turn: one that needs little is not
/// behind a thousand large ones, one that goes on not behind a thousand that would begin, and no kind shuts out the
/// others.
package struct WaitingBodies: Sendable {
    /// The queues: of bodies that need little, of large ones that have begun, and of those that have not.
    private var queues = [IndexQueue(), IndexQueue(), IndexQueue()]
    /// The number of bodies of each queue that are still to be asked in this round.
    private var toAsk = [0, 0, 0]
    /// The number of bodies of each queue that found too little in this round.
    private var refused = [0, 0, 0]
    /// The queue that the last one came from.
    private var last = 2

    /// The most of one kind that are asked though there is too little: many, for the one that may overdraw may be any
    /// of them, and if there is no room for one body there may be for a smaller one.
    private static let mostRefused = 32

    /// No body waits.
    package init() {}

    /// The number of bodies that wait.
    package var count: Int { queues[0].count + queues[1].count + queues[2].count }

    /// True if there is a body to ask.
    package var isAsking: Bool { toAsk[0] + toAsk[1] + toAsk[2] > 0 }

    /// Puts `id` at the end of its queue.
    package mutating func append(_ id: Int32, _ claim: ByteBudget.Claim) {
        let own = claim == .large ? 1 : claim == .beginning ? 2 : 0
        for queue in queues.indices where queue != own { queues[queue].remove(id) }
        queues[own].append(id)
    }

    /// Takes `id` out; nothing happens if it does not wait.
    package mutating func remove(_ id: Int32) {
        for queue in queues.indices { queues[queue].remove(id) }
    }

    /// There is room again: every waiting body is asked again.
    package mutating func roomCameBack() {
        toAsk = queues.map(\.count)
        refused = [0, 0, 0]
    }

    /// Takes out the next one to ask.
    package mutating func next() -> Int32? {
        for step in 1...queues.count {
            let queue = (last + step) % queues.count
            guard toAsk[queue] > 0 else { continue }
            last = queue
            toAsk[queue] -= 1
            if let id = queues[queue].popFirst() { return id }
            toAsk[queue] = 0
        }
        return nil
    }

    /// The last one that was asked found too little room, and is at the end of a queue again.
    package mutating func lastWasRefused() {
        refused[last] += 1
        if refused[last] >= Self.mostRefused { toAsk[last] = 0 }
    }

    /// The first for whom `condition` holds: of the large ones that have begun, else of those that have not, else of
    /// the others.
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

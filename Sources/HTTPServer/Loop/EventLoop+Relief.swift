import CSystem
import HTTPWire

/// Closing connections when there is not enough for all: those that make the least progress.
extension EventLoop {
    /// A client is not slow that has sent, or taken, this many bytes ...
    static let piece = 16 << 10
    /// ... within this time, in nanoseconds.
    static let slowAfter: UInt64 = 1_000_000_000
    /// The time in which nothing comes free after which bodies that wait themselves are given up, in nanoseconds.
    private static let stuckAfter: UInt64 = 2_000_000_000

    /// A client has brought `count` bytes of its body, or taken as many of its answer: with a whole piece it goes to
    /// the end of the queue, whose first is therefore the slowest.
    func progress(_ connection: Connection, _ count: Int, in queue: inout IndexQueue) {
        connection.sinceProgress += count
        guard connection.sinceProgress >= Self.piece else { return }
        connection.sinceProgress = 0
        connection.progressAt = now
        if queue.contains(connection.descriptor) { queue.moveToEnd(connection.descriptor) }
    }

    /// Puts a connection into one of the queues that are ordered by progress, or takes it out.
    func place(_ connection: Connection, in queue: inout IndexQueue, if belongs: Bool) {
        let id = connection.descriptor
        guard belongs != queue.contains(id) else { return }
        guard belongs else { return queue.remove(id) }
        connection.progressAt = now
        connection.sinceProgress = 0
        queue.append(id)
    }

    /// The slowest of a queue, if it is slow.
    private func slowest(of queue: IndexQueue, after time: UInt64 = EventLoop.slowAfter) -> Connection? {
        guard let id = queue.first, let connection = connections[Int(id)] else { return nil }
        return now &- connection.progressAt >= time ? connection : nil
    }

    // MARK: The byte budget

    /// While there is no room for bodies, the slowest are refused, a few at a time; the longer there is none, the
    /// sooner a body counts as slow. If nothing is released although none is slow, all wait for each other: the one
    /// that has waited longest with its own bytes is refused.
    func relieve() {
        guard let time = reliefAt, now >= time else { return }
        guard context.budget.isShort else {
            // There is room, and some who wait have not had it yet: what was learnt still counts.
            reliefAt = starved.count > 0 ? now &+ context.policy.bodyPatience / 2 : nil
            if starved.count == 0 { shortages = 0 }
            return
        }
        let slowAfter = max(context.policy.bodyPatience / 2, Self.slowAfter >> UInt64(min(shortages, 8)))
        shortages += 1
        reliefAt = now &+ context.policy.bodyPatience / (shortages > 3 ? 4 : 2)
        let releases = context.budget.releases
        if lastReleases.count != releases || lastReleases.since == 0 { lastReleases = (releases, now) }
        var freed = 0
        // A share of the budget at a time: many slow bodies would otherwise keep those waiting who come behind them.
        let wanted = max(1 << 20, context.budget.limits.total / 4)
        for _ in 0..<Self.mostAtOnce {
            guard freed < wanted, let connection = slowest(of: bodies, after: slowAfter) else { break }
            if isHeldUp(connection) {
                progress(connection, Self.piece, in: &bodies)
                continue
            }
            freed += connection.exchange?.body.bytesCharged ?? 0
            giveUpBody(connection)
        }
        guard freed == 0, now &- lastReleases.since >= Self.stuckAfter else { return }
        lastReleases.since = now
        if let connection = longestWaiting() { giveUpBody(connection) }
    }

    /// True if its bytes are there, and this loop has not come to read them.
    private func isHeldUp(_ connection: Connection) -> Bool {
        let unread = Int(csys_unread(connection.descriptor))
        return unread >= Self.piece / 4 || unread > 0 && restHasArrived(connection)
    }

    /// The most bodies that are given up in one turn.
    private static let mostAtOnce = 256

    /// Of those that wait and have their own bytes, the one that has waited longest.
    private func longestWaiting() -> Connection? {
        starved.first { id in
            guard let connection = connections[Int(id)] else { return false }
            return connection.charged + (connection.exchange?.body.bytesCharged ?? 0) > 0
        }.flatMap { connections[Int($0)] }
    }

    private func giveUpBody(_ connection: Connection) {
        context.counters.evictedBodies.add()
        perform(connection.machine.bodyEvicted(), on: connection)
        synchronize(connection)
    }

    // MARK: Connections

    /// Closes a connection that is worth less than a new one: who has been answered and only sends on; else the one
    /// that is idle for longest; else the one that has been sending a head for longest; else a body that hardly comes,
    /// or a reader that takes nothing. Where there are such bodies or readers, no connection is closed that began, or
    /// was answered, within the last second: the next request may be on its way. A client that has not taken its answer
    /// counts as a reader in all of these states. Tells whether there was one.
    func evictOne() -> Bool {
        if let connection = first(of: \.leaving) {
            evict(connection)
            return true
        }
        let sparesRecent = slowest(of: bodies) != nil || slowest(of: readers) != nil
        for _ in 0..<64 {
            guard let connection = longestResting(sparesRecent: sparesRecent) else { break }
            // One whose next request has arrived in the meantime is no longer idle, so each is looked at before.
            let (phase, answered) = (connection.machine.phase, connection.machine.answeredRequests)
            connection.readable = true
            advance(connection)
            synchronize(connection)
            if connection.machine.phase == .closed { return true }
            guard connection.machine.phase == phase, connection.machine.answeredRequests == answered else { continue }
            evict(connection)
            return true
        }
        if let connection = slowest(of: bodies) {
            _ = measure(connection)
            let ending: ConnectionEnding = connection.queued > 0 ? .evicted : .finished
            giveUpBody(connection)
            // The refusal is on its way, and nothing else: the kernel brings it to its client.
            if connection.machine.phase != .closed { evict(connection, ending) }
            return true
        }
        for _ in 0..<min(64, readers.count) {
            // Each holds an answer, which its client has had time to begin to take.
            let patience = context.policy.bodyPatience
            guard let connection = slowest(of: readers, after: patience) else { return false }
            _ = measure(connection)
            rest(connection)
            guard slowest(of: readers, after: patience) === connection else { continue }
            // Not for ever: a client could take a byte now and then.
            if takesLittle(connection), now &- connection.progressAt < context.policy.writeTimeout {
                readers.moveToEnd(connection.descriptor)
                continue
            }
            evict(connection)
            return true
        }
        return false
    }

    /// The connection that is idle for longest, else the one with half a head.
    private func longestResting(sparesRecent: Bool) -> Connection? {
        for queue in [\EventLoop.idle, \EventLoop.heads] {
            guard let connection = first(of: queue) else { continue }
            if !sparesRecent || now &- connection.progressAt >= Self.slowAfter { return connection }
        }
        return nil
    }

    /// The first of a queue whose client has taken all of its answers. Those before it leave the queue: they are
    /// readers.
    private func first(of queue: ReferenceWritableKeyPath<EventLoop, IndexQueue>) -> Connection? {
        while let id = self[keyPath: queue].first, let connection = connections[Int(id)] {
            _ = measure(connection)
            if connection.queued == 0 { return connection }
            self[keyPath: queue].remove(id)
        }
        return nil
    }

    func evict(_ connection: Connection, _ ending: ConnectionEnding = .evicted) {
        context.counters.evicted.add()
        perform(connection.machine.close(ending), on: connection)
    }

    // MARK: Heads

    /// Counts the beginnings of heads and what is read ahead beside the bodies, where it is not little. Where there is
    /// no room for it, the request is refused.
    func countHead(_ connection: Connection) {
        var held = connection.leftover.count + (connection.exchange?.headBytes ?? 0)
        if held <= Self.smallHead { held = 0 }
        let phase = connection.machine.phase
        let beginning = held > 0 && phase == .waiting ? connection.leftover.count : 0
        let (more, moreBeginning) = (held - connection.charged, beginning - connection.beginning)
        guard more != 0 || moreBeginning != 0 else { return }
        let share: ByteBudget.Share =
            switch phase {
            case .handling: .unbounded
            case .body, .waiting: .whole
            default: .half
            }
        if context.budget.changeBeside(more, beginnings: moreBeginning, share) {
            (connection.charged, connection.beginning) = (held, beginning)
            return
        }
        switch connection.machine.phase {
        case .head, .body, .waiting:
            connection.leftover = []
            connection.leftoverIsNew = false
            answerFault(connection, ConnectionFault.noBudget.error, isTimeout: true)
        default: perform(connection.machine.close(.slowReader), on: connection)
        }
    }

    private static let smallHead = 2 << 10
}

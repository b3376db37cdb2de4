import CSystem
import HTTPWire

/// Closes connections when memory or places are exhausted: those with the least progress first.
extension EventLoop {
    /// The number of bytes that counts as progress. A client that sends or takes this many within `slowAfter` is not
    /// slow.
    static let piece = 16 << 10
    /// The time without a `piece` after which a client counts as slow, in nanoseconds.
    static let slowAfter: UInt64 = 1_000_000_000
    /// The time without a release after which a waiting body is refused, in nanoseconds.
    private static let stuckAfter: UInt64 = 2_000_000_000

    /// Counts `count` bytes that a client has sent of its body or taken of its answer. After a whole piece it moves to
    /// the end of the queue, so that the first of the queue is the slowest.
    func progress(_ connection: Connection, _ count: Int, in queue: inout IndexQueue) {
        connection.sinceProgress += count
        guard connection.sinceProgress >= Self.piece else { return }
        connection.sinceProgress = 0
        connection.progressAt = now
        if queue.contains(connection.descriptor) { queue.moveToEnd(connection.descriptor) }
    }

    /// Puts a connection into a queue that is ordered by progress, or removes it.
    func place(_ connection: Connection, in queue: inout IndexQueue, if belongs: Bool) {
        let id = connection.descriptor
        guard belongs != queue.contains(id) else { return }
        guard belongs else { return queue.remove(id) }
        connection.progressAt = now
        connection.sinceProgress = 0
        queue.append(id)
    }

    /// The slowest connection of a queue; nil if none has been without progress for `time`.
    private func slowest(of queue: IndexQueue, after time: UInt64 = EventLoop.slowAfter) -> Connection? {
        guard let id = queue.first, let connection = connections[Int(id)] else { return nil }
        return now &- connection.progressAt >= time ? connection : nil
    }

    // MARK: The byte budget

    /// Refuses the slowest bodies, a few per turn, while there is no room for all. The longer the shortage lasts, the
    /// sooner a body counts as slow. If no memory is released although no body is slow, all bodies wait for each other;
    /// then the one that has waited longest while it holds bytes is refused.
    func relieve() {
        guard let time = reliefAt, now >= time else { return }
        guard context.budget.isShort else {
            // There is room, but some waiting bodies have not got it yet: keep the count of shortages.
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
        // Free a part of the budget at a time: many slow bodies would otherwise delay the waiting bodies behind them.
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

    /// True if bytes of the body are in the socket and this loop has not read them yet.
    private func isHeldUp(_ connection: Connection) -> Bool {
        let unread = Int(csys_unread(connection.descriptor))
        return unread >= Self.piece / 4 || unread > 0 && restHasArrived(connection)
    }

    /// The maximum number of bodies that are refused per turn.
    private static let mostAtOnce = 256

    /// The connection that has waited longest among those that wait while they hold bytes.
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

    /// Evicts one connection to make room for a new one, in this order: 1. already answered, still sending; 2. longest
    /// idle; 3. head incomplete for longest; 4. slow body; 5. slow reader. If there are slow bodies or readers,
    /// connections that began or were answered within the last second are spared, because their next request may be in
    /// flight. A client with unread answers counts as a reader in all of these states. Returns whether a connection was
    /// closed.
    func evictOne() -> Bool {
        if let connection = first(of: \.leaving) {
            evict(connection)
            return true
        }
        let sparesRecent = slowest(of: bodies) != nil || slowest(of: readers) != nil
        for _ in 0..<64 {
            guard let connection = longestResting(sparesRecent: sparesRecent) else { break }
            // A connection whose next request has arrived is not idle, so read each socket first.
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
            // Only the refusal is in the socket; the kernel delivers it to the client.
            if connection.machine.phase != .closed { evict(connection, ending) }
            return true
        }
        for _ in 0..<min(64, readers.count) {
            // Each reader holds an answer, which its client has had time to begin to take.
            let patience = context.policy.bodyPatience
            guard let connection = slowest(of: readers, after: patience) else { return false }
            _ = measure(connection)
            rest(connection)
            guard slowest(of: readers, after: patience) === connection else { continue }
            // Spare it only for the write timeout: a client could take a byte now and then for ever.
            if takesLittle(connection), now &- connection.progressAt < context.policy.writeTimeout {
                readers.moveToEnd(connection.descriptor)
                continue
            }
            evict(connection)
            return true
        }
        return false
    }

    /// The connection that is idle for longest, otherwise the one with the oldest incomplete head.
    private func longestResting(sparesRecent: Bool) -> Connection? {
        for queue in [\EventLoop.idle, \EventLoop.heads] {
            guard let connection = first(of: queue) else { continue }
            if !sparesRecent || now &- connection.progressAt >= Self.slowAfter { return connection }
        }
        return nil
    }

    /// The first of a queue whose client has taken all of its answers. Connections before it are removed from the
    /// queue, because they are readers.
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

    /// Counts the bytes of incomplete heads and of the read-ahead in the byte budget, unless they are few. If there is
    /// no room for them, the request is refused.
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

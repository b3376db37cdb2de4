import CSystem
import HTTPWire

/// Closes connections when memory or places are exhausted, as `Eviction` decides.
extension EventLoop {
    // MARK: The byte budget

    /// Refuses bodies while there is no room for all.
    func relieve() {
        guard shortage.isDue(now: now) else { return }
        let budget = context.budget
        guard budget.isShort else {
            return shortage.foundRoom(waiting: starved.count, policy: context.policy, now: now)
        }
        var round = shortage.foundNone(
            releases: budget.releases, total: budget.limits.total, policy: context.policy, now: now)
        while let id = round.next(in: &eviction, now: now), let connection = connections[id] {
            if isWaitingForMemory(connection) {
                eviction.received(id, EvictionMachine.piece, now: now)
                continue
            }
            round.refused(connection.exchange?.body.bytesCharged ?? 0)
            giveUpBody(connection)
        }
        if shortage.isStuck(after: round, now: now), let connection = longestWaiting() { giveUpBody(connection) }
    }

    /// True if bytes of the body are in the socket and this loop has not read them yet.
    private func isWaitingForMemory(_ connection: Connection) -> Bool {
        let unread = Int(csys_unread(connection.descriptor))
        return unread >= EvictionMachine.piece / 4 || unread > 0 && restHasArrived(connection)
    }

    /// The connection that has waited longest among those that wait while they hold bytes.
    private func longestWaiting() -> Connection? {
        starved.first { id in
            guard let connection = connections[id] else { return false }
            return connection.charged + (connection.exchange?.body.bytesCharged ?? 0) > 0
        }.flatMap { connections[$0] }
    }

    private func giveUpBody(_ connection: Connection) {
        context.counters.evictedBodies.add()
        perform(connection.machine.bodyEvicted(), on: connection)
        synchronize(connection)
    }

    // MARK: Connections

    /// Closes one connection to make room for a new one; ``EvictionSearch`` decides which. Returns false if all must
    /// stay.
    func evictOne() -> Bool {
        var search = EvictionSearch(policy: context.policy)
        while true {
            switch search.next(in: &eviction, now: now) {
            case .measure(let id):
                if let connection = connections[id] { _ = measure(connection) }
            case .look(let id):
                guard let connection = connections[id] else { return true }
                let (phase, answered) = (connection.machine.phase, connection.machine.answeredRequests)
                connection.readable = true
                advance(connection)
                synchronize(connection)
                if connection.machine.phase == .closed { return true }
                search.looked(
                    isUnchanged: connection.machine.phase == phase && connection.machine.answeredRequests == answered)
            case .refuseBody(let id, let ending):
                guard let connection = connections[id] else { return true }
                giveUpBody(connection)
                if connection.machine.phase != .closed { evict(connection, ending) }
                return true
            case .close(let id):
                if let connection = connections[id] { evict(connection) }
                return true
            case .stop: return false
            }
        }
    }

    func evict(_ connection: Connection, _ ending: ConnectionEnding = .evicted) {
        context.counters.evicted.add()
        perform(connection.machine.close(ending), on: connection)
    }

    // MARK: Unread answers

    /// Closes clients that do not read while the unread bytes of all clients exceed the limit; ``ReaderSearch`` decides
    /// which.
    /// - Parameter mayAsk: false if another loop has asked for it.
    func shed(mayAsk: Bool = true) {
        var search = ReaderSearch(mayAsk: mayAsk)
        while true {
            switch search.next(in: &eviction, isExceeded: context.answers.isExceeded, now: now) {
            case .measure(let id):
                if let connection = connections[id] { _ = measure(connection) }
            case .close(let id):
                guard let reader = connections[id] else { return }
                context.counters.shedReaders.add()
                perform(reader.machine.close(.slowReader), on: reader)
            case .askOthers:
                let mailbox = context.mailbox
                context.answers.shedAll { mailbox.post(.otherLoopsDone) }
                return
            case .stop: return
            }
        }
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
        if context.budget.changeBoth(more, beginnings: moreBeginning, share) {
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

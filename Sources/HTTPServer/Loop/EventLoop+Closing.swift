import CSystem
import HTTPWire
import SystemSupport

extension EventLoop {
    /// Updates timers and queues for the connection's phase. Called after an event was handled, not after each of its
    /// steps: a request that arrives, runs and is answered within one event changes neither.
    func synchronize(_ connection: Connection) {
        let id = connection.descriptor
        guard connection.machine.phase != .closed else { return }
        if connection.charged != 0 || connection.exchange != nil || !connection.leftover.isEmpty {
            countHead(connection)
        }
        let phase = connection.machine.phase
        guard phase != .closed else { return }
        if let deadline = connection.machine.deadline, connection.timerAt == 0 || deadline < connection.timerAt {
            connection.timerAt = deadline
            wheel.set(id, at: deadline)
        }
        // A connection with unread answers is in `readers`, not in `idle` or `leaving`. A reserved place is not closed
        // for an ordinary one, because it would free none.
        let hasTaken = connection.queued == 0 && !reserved.contains(id)
        // Move it even if it is in the queue, which is ordered by last use.
        if phase == .idle, hasTaken {
            idle.moveToEnd(id)
            connection.progressAt = now
        } else {
            idle.remove(id)
        }
        if phase == .head, hasTaken { heads.append(id) } else if heads.count > 0 { heads.remove(id) }
        if phase == .body || bodies.count > 0 {
            place(connection, in: &bodies, if: phase == .body && !reserved.contains(id))
        }
        let isLeaving = phase == .skipping || phase == .lingering
        if isLeaving, hasTaken { leaving.append(id) } else { leaving.remove(id) }
        if phase != .waiting, starved.count > 0 { starved.remove(id) }
        context.counters.idle.set(idle.count)
        context.counters.waiting.set(starved.count)
        if isDraining { checkEmpty() }
    }

    /// Makes a connection that waits only for its client evictable again when the client has taken all of its answers.
    /// Until then `synchronize` leaves it out of these queues.
    func rest(_ connection: Connection) {
        guard connection.queued == 0, !reserved.contains(connection.descriptor) else { return }
        switch connection.machine.phase {
        case .idle where !idle.contains(connection.descriptor):
            idle.append(connection.descriptor)
            connection.progressAt = now
            context.counters.idle.set(idle.count)
        case .skipping, .lingering: leaving.append(connection.descriptor)
        default: break
        }
    }

    /// Handles an expired timer of the wheel.
    func timerFired(_ id: Int32) {
        guard let connection = connections[Int(id)] else { return }
        connection.timerAt = 0
        lookOnceMore(connection)
        let isOver = connection.machine.deadline.map { now >= $0 } ?? false
        if isOver, reserved.isWaiting(id) {
            refuseWaiting(connection)
        } else {
            perform(connection.machine.timerFired(policy: context.policy, now: now), on: connection)
        }
        synchronize(connection)
    }

    /// Reads or writes the socket of a connection whose deadline has passed, before its client counts as late: epoll
    /// may not have reported the last bytes received or taken yet. This happens after the process was stopped (SIGCONT
    /// ends epoll_wait without events), and when more events are pending than one turn fetches.
    private func lookOnceMore(_ connection: Connection) {
        guard let deadline = connection.machine.deadline, now >= deadline else { return }
        switch connection.machine.phase {
        case .idle, .head, .body, .skipping, .lingering:
            connection.readable = true
            advance(connection)
        case .answering:
            let left = connection.output.count
            let isSent = flushOutput(connection)
            // The kernel reports free space only when its buffer is nearly empty; a slow client has taken some of it
            // before.
            guard measure(connection) > 0 || isSent || connection.output.count < left else { return }
            answered(connection, sent: isSent)
            advance(connection)
        case .waiting, .handling, .closing, .closed: break
        }
    }

    /// Closes the socket, cancels the handler, and reports lost requests to the observer.
    func close(_ connection: Connection, _ ending: ConnectionEnding) {
        let counters = context.counters
        if ending == .slowReader { counters.slowReaders.add() }
        if ending == .idle { counters.idleTimeouts.add() }
        if let task = connection.task {
            connection.task = nil
            task.cancel()
            counters.running.add(-1)
            counters.cancelled.add()
        }
        recordLoss(connection)
        let id = connection.descriptor
        wheel.clear(id)
        idle.remove(id)
        heads.remove(id)
        starved.remove(id)
        unfinished.remove(id)
        discarding.remove(id)
        bodies.remove(id)
        readers.remove(id)
        leaving.remove(id)
        reserved.remove(id)
        if connection.charged > 0 {
            _ = context.budget.changeBeside(-connection.charged, beginnings: -connection.beginning)
        }
        (connection.charged, connection.beginning) = (0, 0)
        forgetAnswers(connection)
        connections[Int(id)] = nil
        openCount -= 1
        counters.open.set(openCount)
        counters.idle.set(idle.count)
        counters.waiting.set(starved.count)
        if ending.dropsAnswers, csys_queued(id) > 0 { csys_set_abortive_close(id) }
        // Last, because the kernel may reuse the number at once. epoll removes a closed descriptor by itself.
        csys_close(id)
        if isDraining { checkEmpty() }
    }

    /// Reports the requests of this connection whose answers were not completely sent.
    private func recordLoss(_ connection: Connection) {
        var lost = connection.ending
        connection.ending = []
        for index in lost.indices {
            lost[index].outcome = .clientGone(.answering)
        }
        let never = MonotonicInstant(nanoseconds: 0)
        if let exchange = connection.exchange {
            connection.exchange = nil
            let whole = exchange.bodyEnd > 0
            lost.append(
                ExchangeRecord(
                    requestID: exchange.requestID, remote: connection.remote, client: exchange.client,
                    method: exchange.head.method, head: exchange.head, status: nil, tag: "",
                    bodyBytesReceived: whole ? exchange.bodyBytes : exchange.body.count, bodyBytesSent: 0,
                    firstByte: MonotonicInstant(nanoseconds: exchange.firstByte),
                    bodyEnd: MonotonicInstant(nanoseconds: exchange.bodyEnd), responseReady: never, end: never,
                    outcome: .clientGone(whole ? .handling : .body)))
        } else if connection.firstByte != 0 {
            lost.append(
                ExchangeRecord(
                    requestID: identifiers.next(), remote: connection.remote, client: connection.client, method: nil,
                    head: nil, status: nil, tag: "", bodyBytesReceived: 0, bodyBytesSent: 0,
                    firstByte: MonotonicInstant(nanoseconds: connection.firstByte), bodyEnd: never,
                    responseReady: never, end: never, outcome: .clientGone(.head)))
        }
        context.counters.clientsGone.add(lost.count)
        guard let observer = context.observer else { return }
        for var record in lost {
            record.end = MonotonicInstant(nanoseconds: now)
            observer.exchangeEnded(record)
        }
    }

    // MARK: Shutdown

    /// Accepts the connections that are pending now, and none after them.
    func stopAccepting() {
        guard !isDraining else { return }
        acceptAll()
        isDraining = true
        if acceptPause == nil { disarmListeners() }
    }

    /// The number of connections without a first request, which may still be in flight.
    func newcomers() -> Int {
        connections.count { connection in
            guard let machine = connection?.machine else { return false }
            return machine.phase == .idle && machine.answeredRequests == 0
        }
    }

    /// Closes idle connections, a moment later if an answer has just been sent. Calls `whenEmpty` once no request is in
    /// progress.
    func drain(_ whenEmpty: @escaping @Sendable () -> Void) {
        for case let connection? in connections {
            // Closes idle connections, a moment later if an answer has just been sent. `whenEmpty` is called once no
            // request is in progress.
            if connection.machine.phase == .idle { connection.readable = true }
            advance(connection)
            perform(connection.machine.drain(policy: context.policy, now: now), on: connection)
            synchronize(connection)
        }
        // Set it only now: otherwise each connection that closes would check all the others.
        self.whenEmpty = whenEmpty
        checkEmpty()
    }

    func checkEmpty() {
        guard let whenEmpty, openCount == 0 || requestsInProgress() == 0 && !awaitsRequests else { return }
        self.whenEmpty = nil
        whenEmpty()
    }

    /// True if, in a shutdown, connections still have a moment for a last request.
    private var awaitsRequests: Bool { connections.contains { $0?.machine.phase == .idle } }

    /// The number of connections with a request whose first byte has arrived and whose answer is not completely sent.
    func requestsInProgress() -> Int {
        var count = 0
        for case let connection? in connections {
            switch connection.machine.phase {
            case .idle, .skipping, .lingering, .closing, .closed: break
            case .head, .body, .waiting, .handling, .answering: count += 1
            }
        }
        return count
    }

    func closeAll() {
        whenEmpty = nil
        for case let connection? in connections {
            perform(connection.machine.close(.drained), on: connection)
        }
        connections = []
        // The rest of this turn uses descriptors, which may be reused.
        unread = UnreadAnswers()
    }
}

import CSystem
import HTTPWire
import SystemSupport

/// The state of a loop's shutdown.
struct Shutdown {
    /// True once nothing is accepted any more.
    var isDraining = false
    /// Called when no connection has a request.
    var whenEmpty: (@Sendable () -> Void)?
    /// True once all connections are closed and the loop ends.
    var isStopped = false
}

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
            timers.wheel.set(id, at: deadline)
        }
        eviction.settled(id, in: phase, isReserved: places.reserved.contains(id), now: now)
        if phase != .waiting, starved.count > 0 { starved.remove(id) }
        context.counters.idle.set(eviction.idleCount)
        context.counters.waiting.set(starved.count)
        if shutdown.isDraining { checkEmpty() }
    }

    /// Handles an expired timer of the wheel.
    func timerFired(_ id: Int32) {
        guard let connection = connections[id] else { return }
        connection.timerAt = 0
        readOnceMore(connection)
        let isOver = connection.machine.deadline.map { now >= $0 } ?? false
        if isOver, places.reserved.isWaiting(id) {
            refuseWaiting(connection)
        } else {
            perform(connection.machine.timerFired(policy: context.policy, now: now), on: connection)
        }
        synchronize(connection)
    }

    /// Reads or writes the socket of a connection whose deadline has passed, before its client counts as late: epoll
    /// may not have reported the last bytes received or taken yet. This happens after the process was stopped (SIGCONT
    /// ends epoll_wait without events), and when more events are pending than one turn fetches.
    private func readOnceMore(_ connection: Connection) {
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
        timers.wheel.clear(id)
        starved.remove(id)
        backlog.remove(id)
        let standing = eviction.closed(id)
        places.closed(id)
        if connection.charged > 0 {
            _ = context.budget.changeBoth(-connection.charged, beginnings: -connection.beginning)
        }
        (connection.charged, connection.beginning) = (0, 0)
        context.answers.add(-standing.held)
        counters.socketBytes.add(-standing.queued)
        connections.remove(id)
        counters.open.set(places.open)
        counters.idle.set(eviction.idleCount)
        counters.waiting.set(starved.count)
        if ending.dropsAnswers, csys_queued(id) > 0 { csys_set_abortive_close(id) }
        // Last, because the kernel may reuse the number at once. epoll removes a closed descriptor by itself.
        csys_close(id)
        if shutdown.isDraining { checkEmpty() }
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
        guard !shutdown.isDraining else { return }
        acceptAll()
        shutdown.isDraining = true
        if accepting.pausedUntil == nil { disarmListeners() }
    }

    /// The number of connections without a first request, which may still be in flight.
    func newcomers() -> Int {
        connections.all.count { connection in
            guard let machine = connection?.machine else { return false }
            return machine.phase == .idle && machine.answeredRequests == 0
        }
    }

    /// Closes idle connections, a moment later if an answer has just been sent. Calls `whenEmpty` once no request is in
    /// progress.
    func drain(_ whenEmpty: @escaping @Sendable () -> Void) {
        for case let connection? in connections.all {
            // Closes idle connections, a moment later if an answer has just been sent. `whenEmpty` is called once no
            // request is in progress.
            if connection.machine.phase == .idle { connection.readable = true }
            advance(connection)
            perform(connection.machine.drain(policy: context.policy, now: now), on: connection)
            synchronize(connection)
        }
        // Set it only now: otherwise each connection that closes would check all the others.
        shutdown.whenEmpty = whenEmpty
        checkEmpty()
    }

    func checkEmpty() {
        guard let whenEmpty = shutdown.whenEmpty,
            places.open == 0 || requestsInProgress() == 0 && !awaitsRequests
        else { return }
        shutdown.whenEmpty = nil
        whenEmpty()
    }

    /// True if, in a shutdown, connections still have a moment for a last request.
    private var awaitsRequests: Bool { connections.all.contains { $0?.machine.phase == .idle } }

    /// The number of connections with a request whose first byte has arrived and whose answer is not completely sent.
    func requestsInProgress() -> Int {
        var count = 0
        for case let connection? in connections.all {
            switch connection.machine.phase {
            case .idle, .skipping, .lingering, .closing, .closed: break
            case .head, .body, .waiting, .handling, .answering: count += 1
            }
        }
        return count
    }

    func closeAll() {
        shutdown.whenEmpty = nil
        for case let connection? in connections.all {
            perform(connection.machine.close(.drained), on: connection)
        }
        connections.removeAll()
        // The rest of this turn uses descriptors, which may be reused.
        unread = UnreadAnswers()
    }
}

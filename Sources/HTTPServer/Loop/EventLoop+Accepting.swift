import CSystem
import Glibc
import HTTPWire
import SystemSupport

/// The state of a loop's listeners.
struct Accepting {
    /// Listeners with pending connections in this turn, by index, with their events.
    var ready: [(Int, UInt32)] = []
    /// The time until which accepting is paused because it failed; nil if it is not paused.
    var pausedUntil: UInt64?
    /// A reserved file descriptor: when no other is free, it is closed to accept a client and refuse it.
    var reserve = csys_open_reserve()
}

extension EventLoop {
    /// Registers the listeners. User data: registration 0, and the index.
    func armListeners() -> Bool {
        for (index, listener) in context.listeners.enumerated() {
            let events = CSYS_EPOLL_IN
            let result = csys_epoll_add(epoll, listener.descriptor, events, UInt64(index))
            guard result >= 0 else {
                context.reportFailure(.listenerFailed(address: listener.address, errno: -result))
                return false
            }
        }
        return true
    }

    /// Takes the listeners out of epoll: nothing is accepted, and nothing wakes the loop for it.
    func disarmListeners() {
        for listener in context.listeners { csys_epoll_remove(epoll, listener.descriptor) }
    }

    /// Accepts all pending connections before the listeners are closed: at most as many as the backlog can hold.
    func acceptAll() {
        for index in context.listeners.indices {
            for _ in 0...max(0, context.configuration.backlog) / 64 {
                guard listenerReady(index, events: 0) else { break }
            }
        }
    }

    /// Accepts waiting connections, a bounded number per turn, so that a flood of new ones does not starve the others.
    /// Returns whether more may be waiting.
    @discardableResult
    func listenerReady(_ index: Int, events: UInt32) -> Bool {
        guard index < context.listeners.count, accepting.pausedUntil == nil, !shutdown.isDraining else { return false }
        let listener = context.listeners[index]
        if events & (CSYS_EPOLL_ERR | CSYS_EPOLL_HUP) != 0 {
            listenerFailed(listener, EIO)
            return false
        }
        let before = places.reserved.accepted
        let reservedPlaces = placeLimits.reserved
        for turn in 0..<max(256, context.configuration.backlog) {
            // A request that follows its connection is read before that could be closed for a newer one.
            if places.reserved.accepted &- before >= reservedPlaces { return true }
            // All that wait, as a rule: where the kernel's backlog is full, it drops the handshakes of others, and
            // their clients try again after a second.
            if turn >= 256, turn % 16 == 0, csys_monotonic() &- now >= Self.acceptingTime { return true }
            var address = csys_address()
            let descriptor = csys_accept(listener.descriptor, &address)
            if descriptor >= 0 {
                place(descriptor, address, listener)
            } else if !acceptFailed(-descriptor, listener, turn: turn) {
                return false
            }
        }
        return true
    }

    /// The time after the beginning of a turn until which more than a few connections are accepted, in nanoseconds.
    private static let acceptingTime: UInt64 = 10_000_000

    /// Gives a new connection a place, if need be that of a connection that is closed for it.
    private func place(_ descriptor: Int32, _ address: csys_address, _ listener: Listener) {
        let limits = placeLimits
        var place = places.place(for: descriptor, limits)
        if place == .ordinaryOfAnother {
            place = makeRoom() ? .ordinary : places.place(for: descriptor, limits, lacksOrdinary: true)
        }
        if place == .ordinary {
            if places.isOverfull(limits) { _ = makeRoom() }
            return admit(descriptor, address, listener)
        }
        if place == .reservedOfAnother, !evictReserved() { return refuse(descriptor) }
        admit(descriptor, address, listener, isReserved: true)
        // Its request has often arrived: a probe does not wait for the events of others.
        guard let connection = connections[descriptor] else { return }
        connection.readable = true
        advance(connection)
        synchronize(connection)
    }

    private var placeLimits: Places.Limits {
        Places.Limits(
            ordinary: context.connectionLimit.perLoop, reserved: context.configuration.reservedConnections,
            ceiling: Self.ceiling)
    }

    /// The lowest descriptor that is free now.
    private static var lowestFree: Int32 {
        let descriptor = csys_open_reserve()
        guard descriptor >= 0 else { return .max }
        csys_close(descriptor)
        return descriptor
    }

    /// Closes a connection in an ordinary place for another; false if all must stay.
    private func makeRoom() -> Bool {
        // It looks at many connections: once in a turn, if in vain.
        guard places.maySearch(now: now) else { return false }
        if evictOne() { return true }
        places.foundNone(now: now)
        return false
    }

    /// The lowest descriptor that connections leave to the rest of the process: timers, model files, pictures of helper
    /// processes. libdispatch opens files of /proc when it counts threads, and ends the process where it gets none.
    private static var ceiling: Int32 {
        guard let limit = Process.openFileLimit else { return .max }
        return Int32(clamping: limit - min(16, limit / 4))
    }

    /// True if accepting continues after this error.
    private func acceptFailed(_ error: Int32, _ listener: Listener, turn: Int) -> Bool {
        switch error {
        case EAGAIN:
            return false
        case ECONNABORTED, EINTR, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, ENETUNREACH:
            return true  // this connection's trouble only (accept(2), error handling)
        case EMFILE, ENFILE:
            // The kernel looks for a descriptor before it looks for a connection: only the first time is one known to
            // wait.
            guard turn == 0 else { return false }
            if makeRoom() || evictReserved() { return true }
            return refuseOne(listener)
        case ENOBUFS, ENOMEM:
            pauseAccepting(until: now &+ 100_000_000)
            return false
        default:
            listenerFailed(listener, error)
            return false
        }
    }

    /// There is no descriptor left for the connection at the head of the queue. Left there, it would wake the loop for
    /// ever; so the reserve is given up for it, and the client gets a refusal at once.
    private func refuseOne(_ listener: Listener) -> Bool {
        guard accepting.reserve >= 0 else {
            context.counters.refused.add()
            accepting.reserve = csys_open_reserve()
            pauseAccepting(until: now &+ 100_000_000)
            return false
        }
        csys_close(accepting.reserve)
        var address = csys_address()
        let descriptor = csys_accept(listener.descriptor, &address)
        if descriptor >= 0 { refuse(descriptor) }
        accepting.reserve = csys_open_reserve()
        return descriptor >= 0
    }

    /// Closes a connection that there is no place for: the client gets a reset at once.
    private func refuse(_ descriptor: Int32) {
        context.counters.refused.add()
        csys_set_abortive_close(descriptor)
        csys_close(descriptor)
    }

    private func listenerFailed(_ listener: Listener, _ error: Int32) {
        csys_epoll_remove(epoll, listener.descriptor)
        context.reportFailure(.listenerFailed(address: listener.address, errno: error))
    }

    private func admit(
        _ descriptor: Int32, _ address: csys_address, _ listener: Listener, isReserved: Bool = false
    ) {
        var isUnix = false
        withUnsafePointer(to: address) { isUnix = csys_address_family($0) == AF_UNIX }
        let connection = Connection(
            descriptor: descriptor, registration: connections.nextRegistration(),
            remote: isUnix ? "unix" : address.text,
            listener: listener.index,
            proxyHeader: context.configuration.listeners[listener.index].proxyHeader,
            machine: ConnectionMachine(policy: context.policy, now: now))
        let events =
            (CSYS_EPOLL_IN | CSYS_EPOLL_OUT | CSYS_EPOLL_RDHUP) | CSYS_EPOLL_EDGE
        guard csys_epoll_add(epoll, descriptor, events, connection.userData) >= 0 else {
            csys_close(descriptor)
            context.counters.refused.add()
            return
        }
        connections.insert(connection)
        eviction.opened(descriptor)
        places.opened(descriptor, isReserved: isReserved)
        context.counters.open.set(places.open)
        context.counters.accepted.add()
        synchronize(connection)
    }

    private func pauseAccepting(until: UInt64) {
        guard accepting.pausedUntil == nil else { return }
        accepting.pausedUntil = until
        disarmListeners()
    }

    /// Accepts again, if it is time.
    func resumeAccepting() {
        guard let until = accepting.pausedUntil, !shutdown.isDraining, now >= until else { return }
        accepting.pausedUntil = nil
        _ = armListeners()
    }

    // MARK: Reserved places

    /// The request of a connection in a reserved place is whole.
    /// - Returns: whether it is taken up now; else it waits for an ordinary place.
    func mayBegin(_ connection: Connection, _ head: RequestHead) -> Bool {
        let id = connection.descriptor
        guard places.reserved.contains(id), !context.responder.isProbe(head) else { return true }
        if places.begin(id, Self.lowestFree, placeLimits) { return true }
        connection.isHeadRequest = head.method == .head
        connection.machine.headStarted(policy: context.policy, now: now)
        return false
    }

    /// Gives ordinary places to requests that wait for one, in the order in which they came, a bounded number in each
    /// turn.
    func assignPlaces() {
        for _ in 0..<64 {
            guard places.reserved.firstWaiting != nil else { return places.endRound(next: nil) }
            guard places.hasRoom(Self.lowestFree, placeLimits) || places.isSearchDue(now: now) && makeRoom() else {
                return places.postpone(now: now)
            }
            guard let id = places.give(), let connection = connections[id] else { return places.endRound(next: nil) }
            connection.isHeadRequest = false
            connection.leftoverIsNew = true
            advance(connection)
            synchronize(connection)
        }
        places.endRound(next: now)
    }

    /// Closes the connection in a reserved place that goes first; false if no reserved place is taken.
    private func evictReserved() -> Bool {
        guard let id = places.reserved.first, let connection = connections[id] else { return false }
        if places.reserved.isWaiting(id) { refuseWaiting(connection) }
        guard connection.machine.phase != .closed else { return true }
        // Nothing stays in the kernel, where a client that does not read would leave it. Bytes that have reached the
        // client's kernel are read before the reset is seen.
        csys_set_abortive_close(id)
        evict(connection, connection.machine.answeredRequests > 0 ? .finished : .evicted)
        return true
    }

    /// Answers a request that has got no ordinary place.
    func refuseWaiting(_ connection: Connection) {
        places.answered(connection.descriptor)
        perform(.fail(.noPlace), on: connection)
        connection.leftover = []
        connection.leftoverIsNew = false
    }
}

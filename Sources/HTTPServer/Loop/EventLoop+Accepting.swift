import CSystem
import Glibc
import SystemSupport

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

    /// Accepts everybody who has connected, before the listeners are closed: at most as many as may have been waiting.
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
        guard index < context.listeners.count, acceptPause == nil, !isDraining else { return false }
        let listener = context.listeners[index]
        let ceiling = Self.ceiling
        if events & (CSYS_EPOLL_ERR | CSYS_EPOLL_HUP) != 0 {
            listenerFailed(listener, EIO)
            return false
        }
        for turn in 0..<64 {
            if openCount >= context.connectionLimit.perLoop {
                // One connection is known to wait, no more: none is closed for one that may not exist.
                guard turn == 0 else { return false }
                guard evictOne() else {
                    pauseAccepting(until: mayEvictLater ? now &+ 100_000_000 : nil, isFull: true)
                    return false
                }
                // The limit was lowered: two go for each that comes.
                if openCount >= context.connectionLimit.perLoop { _ = evictOne() }
            }
            var address = csys_address()
            let descriptor = csys_accept(listener.descriptor, &address)
            if descriptor >= 0 {
                // The kernel gives the lowest number that is free: all below it are in use.
                if descriptor >= ceiling, !evictOne() {
                    refuse(descriptor)
                } else {
                    admit(descriptor, address, listener)
                }
            } else if !acceptFailed(-descriptor, listener, turn: turn) {
                return false
            }
        }
        return true
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
            if evictOne() { return true }
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
        guard reserve >= 0 else {
            context.counters.refused.add()
            reserve = csys_open_reserve()
            pauseAccepting(until: now &+ 100_000_000)
            return false
        }
        csys_close(reserve)
        var address = csys_address()
        let descriptor = csys_accept(listener.descriptor, &address)
        if descriptor >= 0 { refuse(descriptor) }
        reserve = csys_open_reserve()
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

    private func admit(_ descriptor: Int32, _ address: csys_address, _ listener: Listener) {
        // 0 marks listeners and the highest number the mailbox.
        lastRegistration = lastRegistration &+ 1
        if lastRegistration == 0 || lastRegistration == .max { lastRegistration = 1 }
        var isUnix = false
        withUnsafePointer(to: address) { isUnix = csys_address_family($0) == AF_UNIX }
        let connection = Connection(
            descriptor: descriptor, registration: lastRegistration, remote: isUnix ? "unix" : address.text,
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
        while connections.count <= Int(descriptor) { connections.append(nil) }
        connections[Int(descriptor)] = connection
        openCount += 1
        context.counters.open.set(openCount)
        context.counters.accepted.add()
        synchronize(connection)
    }

    private func pauseAccepting(until: UInt64?, isFull: Bool = false) {
        guard acceptPause == nil else { return }
        acceptPause = AcceptPause(until: until, isFull: isFull)
        disarmListeners()
    }

    /// Accepts again, if the reason not to is gone.
    func resumeAccepting() {
        guard let pause = acceptPause, !isDraining else { return }
        let isOver = pause.until.map { now >= $0 } ?? false
        let hasRoom =
            pause.isFull
            && (openCount < context.connectionLimit.perLoop || idle.count + heads.count + leaving.count > 0
                || pause.until == nil && mayEvictLater)
        guard isOver || hasRoom else { return }
        acceptPause = nil
        _ = armListeners()
    }
}

/// The reason why no connections are accepted, and until when.
struct AcceptPause {
    /// Tried again at this time at the latest; nil: when there is room.
    let until: UInt64?
    /// There are as many connections as there may be.
    let isFull: Bool
}

internal import SystemSupport

/// The event loops of a server, as a group that is shut down together.
struct LoopGroup: Sendable {
    private let loops: [LoopContext]

    init(_ loops: [LoopContext]) {
        self.loops = loops
    }

    /// Waits for clients that are connecting, for at most `time`. Handshakes in progress cannot be seen, so if there
    /// may be any, it waits for all of that time. Otherwise it returns as soon as every accepted connection has sent
    /// the first byte of a request.
    /// - Parameter atOnce: whether no handshake can be in progress.
    func acceptPending(within time: Duration, atOnce: Bool) async {
        guard atOnce else {
            try? await Task.sleep(for: time)
            return
        }
        let end = ContinuousClock.now + time
        while await newcomers() > 0, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Accepts pending connections. Returns the number of connections that have not sent a request yet.
    private func newcomers() async -> Int {
        let counted = Countdown(loops.count)
        let sum = Guarded(0)
        for loop in loops {
            loop.mailbox.post(
                .countWithoutRequest { count in
                    sum.withLock { $0 += count }
                    counted.arrive()
                })
        }
        await counted.wait()
        return sum.withLock { $0 }
    }

    /// Returns when no loop has a request in progress, or when the time is up. Calls `closeListeners` as soon as no
    /// loop uses the listening sockets any more.
    func drain(within time: Duration, closeListeners: () -> Void) async {
        let (disarmed, empty) = (Countdown(loops.count), Countdown(loops.count))
        for loop in loops {
            loop.mailbox.post(.drain(disarmed: { disarmed.arrive() }, whenEmpty: { empty.arrive() }))
        }
        await disarmed.wait()
        closeListeners()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await empty.wait() }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            empty.finish()
            group.cancelAll()
        }
    }

    /// Closes all connections and ends the threads. Returns the number of lost requests.
    func stop() async -> Int {
        let ended = Countdown(loops.count)
        let lost = Guarded(0)
        for loop in loops {
            loop.mailbox.post(
                .stop(done: { count in
                    lost.withLock { $0 += count }
                    ended.arrive()
                }))
        }
        await ended.wait()
        return lost.withLock { $0 }
    }
}

/// A counter of outstanding events; one task waits until it is zero.
final class Countdown: Sendable {
    private struct State {
        var left: Int
        var waiter: CheckedContinuation<Void, Never>?
    }
    private let state: Guarded<State>

    init(_ count: Int) {
        state = Guarded(State(left: count))
    }

    func arrive() {
        take { $0 -= 1 }
    }

    /// Sets the counter to zero, as if all events had happened.
    func finish() {
        take { $0 = 0 }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let done = state.withLock { state in
                guard state.left > 0 else { return true }
                state.waiter = continuation
                return false
            }
            if done { continuation.resume() }
        }
    }

    private func take(_ change: (inout Int) -> Void) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            change(&state.left)
            guard state.left <= 0 else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}

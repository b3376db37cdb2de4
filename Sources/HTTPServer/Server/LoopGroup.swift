/// The event loops of a server, told to end together.
struct LoopGroup: Sendable {
    private let loops: [LoopContext]

    init(_ loops: [LoopContext]) {
        self.loops = loops
    }

    /// Returns when no loop has a request in progress, or when the time is up. `closeListeners` is called once no loop
    /// touches the listening sockets any more.
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

    /// Closes everything and ends the threads. Returns how many requests were lost.
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

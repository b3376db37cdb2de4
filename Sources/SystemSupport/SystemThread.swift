internal import CSystem
internal import Glibc

/// A thread of the process's own, outside Swift's pool: for event loops, and for work that blocks.
package enum SystemThread {
    /// The function that a thread runs.
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a detached thread that ends when `body` returns. Signals from outside are blocked in it.
    /// - Parameters:
    ///   - name: as `ps -T` shows it; the first 15 bytes count.
    ///   - body: called once, on the new thread. It is released, uncalled, when no thread can be started.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let box = Unmanaged.passRetained(Body(body))
        let result = csys_thread_start(
            name,
            { argument in
                guard let argument else { return }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
            }, box.toOpaque())
        guard result >= 0 else {
            box.release()
            throw SystemError("pthread_create", number: -result)
        }
    }

    /// The calling thread gives way to others until it ends: they get about ten times as much of a processor that they
    /// want.
    package static func giveWay() {
        // Of this thread only, in Linux. Where it is not allowed, the work is done all the same.
        let thread = __priority_which_t(PRIO_PROCESS.rawValue)
        _ = setpriority(thread, 0, getpriority(thread, 0) + 10)
    }

    /// True if `count` more threads, 256 at most, can be started: for libraries that end the process where they
    /// cannot start one. Another part of the process may take them before that happens.
    package static func canStart(_ count: Int) -> Bool { csys_can_start_threads(Int32(clamping: count)) }
}

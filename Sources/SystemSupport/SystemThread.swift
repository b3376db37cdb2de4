internal import CSystem
internal import Glibc

/// Threads outside Swift's pool: for event loops, and for blocking work.
package enum SystemThread {
    /// The function run by a thread.
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a detached thread, which ends when `body` returns. Signals sent to the process are blocked in it.
    /// - Parameters:
    ///   - name: the name shown by `ps -T`; only the first 15 bytes are used.
    ///   - body: called once, on the new thread. If no thread can be started, it is released without a call.
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

    /// Lowers the priority of the calling thread until it ends: other threads get about ten times as much time on a
    /// contended processor.
    package static func lowerPriority() {
        // On Linux, this applies to a single thread. If it is not allowed, the work runs at normal priority.
        let thread = __priority_which_t(PRIO_PROCESS.rawValue)
        _ = setpriority(thread, 0, getpriority(thread, 0) + 10)
    }

    /// True if `count` more threads, at most 256, can be started: for libraries that end the process if they cannot
    /// start one. Other parts of the process may start threads in between.
    package static func canStart(_ count: Int) -> Bool { csys_can_start_threads(Int32(clamping: count)) }
}

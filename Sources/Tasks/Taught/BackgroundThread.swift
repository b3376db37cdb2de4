internal import Dispatch
internal import Glibc
internal import SystemSupport

/// Runs background work on a thread with a lower priority than those of requests.
enum BackgroundThread {
    /// Added to the nice value of the thread: other threads get about a hundred times as much of a contended processor.
    private static let niceness: Int32 = 19

    /// Does the work and returns its result; the calling task only waits.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            do throws(SystemError) {
                try SystemThread.start("taught") {
                    // In Linux it affects this thread only. If it is not permitted, the work runs with the usual
                    // priority.
                    let thread = __priority_which_t(PRIO_PROCESS.rawValue)
                    _ = setpriority(thread, 0, getpriority(thread, 0) + niceness)
                    continuation.resume(returning: work())
                }
            } catch {
                // No further thread can be started, so one of the existing threads does the work.
                DispatchQueue.global(qos: .utility).async { continuation.resume(returning: work()) }
            }
        }
    }
}

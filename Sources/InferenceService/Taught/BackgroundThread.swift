internal import Dispatch
internal import Glibc
internal import SystemSupport

/// Work for which nobody waits, on a thread that gives way to those of requests.
enum BackgroundThread {
    /// Added to the nice value of the thread: others get about a hundred times as much of a processor that they want.
    private static let niceness: Int32 = 19

    /// Does the work and returns what it gives; the calling task only waits.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            do throws(SystemError) {
                try SystemThread.start("taught") {
                    // Of this thread only, in Linux. Where it is not allowed, the work is done all the same.
                    let thread = __priority_which_t(PRIO_PROCESS.rawValue)
                    _ = setpriority(thread, 0, getpriority(thread, 0) + niceness)
                    continuation.resume(returning: work())
                }
            } catch {
                // No further thread can be started: one of the existing ones does the work.
                DispatchQueue.global(qos: .utility).async { continuation.resume(returning: work()) }
            }
        }
    }
}

internal import Dispatch
internal import Glibc
internal import Synchronization

/// Runs work at a lower priority than the other threads of the process.
package enum LowPriority {
    /// The number added to the nice value: other threads get about twenty times as much time on a contended processor.
    /// Nothing else in the process uses this number, so new threads with it were started by such work.
    private static let niceness: Int32 = 13

    /// Runs the work with a lower priority for the calling thread and for threads that it starts, then restores all of
    /// them: engines start threads while they compile, and keep them for predictions.
    ///
    /// If the process is not allowed to raise the priority of a thread again (by `RLIMIT_NICE` or `CAP_SYS_NICE`), the
    /// work runs at normal priority. One call runs at a time. Blocks.
    package static func run<Value>(_ work: () -> Value) -> Value {
        let usual = getpriority(thread, 0), low = usual + niceness
        // At 19, the lowest priority, other background work could not be distinguished.
        guard canRaise, low < 19 else { return work() }
        return turn.withLock { _ in
            let before = threads
            _ = setpriority(thread, 0, low)
            defer {
                _ = setpriority(thread, 0, usual)
                for id in threads.subtracting(before) where getpriority(thread, id) == low {
                    _ = setpriority(thread, id, usual)
                }
            }
            return work()
        }
    }

    private static let turn = Mutex(())
    /// On Linux, this applies to a single thread.
    private static let thread = __priority_which_t(PRIO_PROCESS.rawValue)

    /// Tested once, on a thread that ends.
    private static let canRaise: Bool = {
        let (result, isTried) = (Guarded(false), DispatchSemaphore(value: 0))
        do throws(SystemError) {
            try SystemThread.start("priority") {
                let usual = getpriority(thread, 0)
                _ = setpriority(thread, 0, usual + niceness)
                let isBack = setpriority(thread, 0, usual) == 0
                result.withLock { $0 = isBack }
                isTried.signal()
            }
        } catch {
            return false
        }
        isTried.wait()
        return result.withLock { $0 }
    }()

    /// The numbers of this process's threads; empty if /proc cannot be read.
    private static var threads: Set<id_t> {
        Set(((try? FolderNames.read("/proc/self/task")) ?? []).compactMap { id_t($0) })
    }
}

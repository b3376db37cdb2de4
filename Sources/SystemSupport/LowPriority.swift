internal import Dispatch
internal import Glibc
internal import Synchronization

/// Work that gives way to the process's other threads.
package enum LowPriority {
    /// Added to the nice value: others get about twenty times as much of a processor that they want. Nothing else in
    /// the process uses this number: new threads that have it were started by such work.
    private static let niceness: Int32 = 13

    /// Does the work, while the calling thread and those that it starts give way to others. Afterwards all of them are
    /// as before: engines start threads as they compile, and keep them for predictions.
    ///
    /// If the process may not raise the priority of a thread again (neither `RLIMIT_NICE` nor `CAP_SYS_NICE` allows
    /// it), the work is done as usual. One such work at a time. Blocks.
    package static func run<Value>(_ work: () -> Value) -> Value {
        let usual = getpriority(thread, 0), low = usual + niceness
        // At 19, the lowest priority, other background work would look the same.
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
    /// Of one thread only, in Linux.
    private static let thread = __priority_which_t(PRIO_PROCESS.rawValue)

    /// Tried out once, on a thread that ends.
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

    /// The threads of this process, by their numbers; none if /proc does not say.
    private static var threads: Set<id_t> {
        Set(((try? FolderNames.read("/proc/self/task")) ?? []).compactMap { id_t($0) })
    }
}

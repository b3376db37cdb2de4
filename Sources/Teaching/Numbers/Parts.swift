internal import Dispatch
internal import SystemSupport

/// Work in parts that do not need each other, on the calling thread and a few more of the process's own. Each part is done by one thread in
/// one order, so that the results do not depend on the threads.
enum Parts {
    /// Numbers below which other threads are not worth their start.
    private static let fewNumbers = 4_000_000
    /// More threads would wait for memory.
    private static let mostHelpers = 3

    private struct Progress {
        var next = 0
        var done = 0
    }

    /// Runs all parts and returns then. The calling thread blocks.
    /// - Parameter numbers: those that all parts read together.
    static func run(_ count: Int, numbers: Int, _ body: @escaping @Sendable (Int) -> Void) {
        guard numbers >= fewNumbers, count > 1 else {
            for part in 0..<count { body(part) }
            return
        }
        let progress = Guarded(Progress()), finished = DispatchSemaphore(value: 0)
        let work: @Sendable () -> Void = {
            // One that starts when all parts are taken finds none.
            while let part = progress.withLock({ progress -> Int? in
                guard progress.next < count else { return nil }
                defer { progress.next += 1 }
                return progress.next
            }) {
                body(part)
                let isLast = progress.withLock { progress in
                    progress.done += 1
                    return progress.done == count
                }
                if isLast { finished.signal() }
            }
        }
        for _ in 0..<min(mostHelpers, count - 1) {
            // Without another thread this one does all.
            do throws(SystemError) { try SystemThread.start("teach", work) } catch { break }
        }
        work()
        finished.wait()
    }
}

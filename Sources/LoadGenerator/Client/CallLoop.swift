internal import CSystem
internal import SystemSupport

/// Repeated calls of a function in several tasks, each of which begins its next call when one has ended: a closed loop
/// within the process.
package struct CallLoop: Sendable {
    /// The nanoseconds of each call.
    package var latencies: [UInt64] = []
    /// The nanoseconds of the whole run, and of all processors during it.
    package var time: UInt64 = 0, processorTime: UInt64 = 0

    package init() {}

    package var perSecond: Double { time == 0 ? 0 : Double(latencies.count) * 1e9 / Double(time) }

    /// Calls `body` for a time.
    /// - Parameters:
    ///   - tasks: the number of calls at once.
    ///   - minimum: the number of calls that each task makes even if they take longer than `seconds`.
    ///   - body: gets the number of the call within its task, plus that of its task.
    /// - Throws: the first error of `body`.
    package static func run(
        tasks: Int, seconds: Double, minimum: Int = 0, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> CallLoop {
        let processorTime = csys_process_cpu()
        let start = MonotonicInstant.now
        let end = start + .nanoseconds(Int64(min(max(seconds, 0.01), 3600) * 1e9))
        return try await withThrowingTaskGroup(of: [UInt64].self) { group in
            for task in 0..<tasks {
                group.addTask {
                    var latencies: [UInt64] = []
                    var begun = MonotonicInstant.now
                    while begun < end || latencies.count < minimum {
                        try await body(task + latencies.count)
                        let now = MonotonicInstant.now
                        latencies.append(now.nanoseconds(since: begun))
                        begun = now
                    }
                    return latencies
                }
            }
            var loop = CallLoop()
            for try await latencies in group { loop.latencies += latencies }
            loop.time = MonotonicInstant.now.nanoseconds(since: start)
            loop.processorTime = csys_process_cpu() &- processorTime
            return loop
        }
    }
}

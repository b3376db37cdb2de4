internal import CSystem
internal import Synchronization

/// Runs loads on a thread of their own, so that no task's thread is blocked and the processor time is theirs alone.
package enum LoadThread {
    /// Makes one load. Cancelling the task ends it early.
    package static func run(
        _ plan: LoadPlan, to address: ServerAddress, requests: [RequestBytes]
    ) async throws(LoadError) -> StepResult {
        let isStopped = Flag()
        let outcome: Result<StepResult, LoadError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let work = Work {
                    continuation.resume(
                        returning: Result { () throws(LoadError) in
                            try LoadRunner(plan: plan, address: address, requests: requests) { isStopped.isSet }.run()
                        })
                }
                let box = Unmanaged.passRetained(work)
                let started = csys_thread_start(
                    "load",
                    { argument in
                        guard let argument else { return }
                        Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                    }, box.toOpaque())
                if started < 0 {
                    box.release()
                    continuation.resume(returning: .failure(LoadError("a thread cannot be started: error \(-started)")))
                }
            }
        } onCancel: {
            isStopped.set()
        }
        return try outcome.get()
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .relaxed) }
        func set() { value.store(true, ordering: .relaxed) }
    }
}

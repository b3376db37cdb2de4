internal import Synchronization
internal import SystemSupport

/// Runs loads on a thread of their own, so that the threads of tasks are not blocked and its processor time can be
/// measured.
package enum LoadThread {
    /// Generates one load. Cancelling the task ends it early.
    package static func run(
        _ plan: LoadPlan, to address: ServerAddress, requests: [RequestBytes]
    ) async throws(LoadError) -> StepResult {
        let isStopped = Flag()
        let outcome: Result<StepResult, LoadError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(SystemError) {
                    try SystemThread.start("load") {
                        continuation.resume(
                            returning: Result { () throws(LoadError) in
                                try LoadRunner(plan: plan, address: address, requests: requests) { isStopped.isSet }
                                    .run()
                            })
                    }
                } catch {
                    continuation.resume(returning: .failure(LoadError("cannot start a thread: \(error.message)")))
                }
            }
        } onCancel: {
            isStopped.set()
        }
        return try outcome.get()
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .relaxed) }
        func set() { value.store(true, ordering: .relaxed) }
    }
}

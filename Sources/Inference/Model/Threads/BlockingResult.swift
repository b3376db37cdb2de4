internal import Dispatch
internal import Synchronization

/// Passes a task's result to a thread that blocks until it is available.
final class BlockingResult<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, InferenceError>?>(nil)
    private let done = DispatchSemaphore(value: 0)

    func set(_ value: Result<Value, InferenceError>) {
        result.withLock { $0 = value }
        done.signal()
    }

    func wait() -> Result<Value, InferenceError> {
        done.wait()
        return result.withLock { $0 } ?? .failure(.cancelled(stage: .queue))
    }
}

internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// A waiter for a ``PendingLoad``: it waits until the load is complete, the deadline has passed, or the waiting task is
/// cancelled.
final class LoadWait<Value: Sendable>: Sendable {
    enum Ending {
        case value(Value), deadline, cancelled
    }

    private struct State {
        var ending: Ending?
        var waiter: CheckedContinuation<Ending, Never>?
    }

    private let state = Mutex(State())

    /// Waits for the end of the load, the deadline or the cancellation, whichever comes first.
    /// - Parameter deadline: the end of the wait; nil waits without a limit.
    func value(until deadline: MonotonicInstant?) async throws(InferenceError) -> Value {
        let timer = deadline.map { DeadlineTimer.shared.schedule(at: $0) { self.end(.deadline) } }
        defer { if let timer { DeadlineTimer.shared.remove(timer) } }
        let ending = await withTaskCancellationHandler {
            await self.ending()
        } onCancel: {
            self.end(.cancelled)
        }
        switch ending {
        case .value(let value): return value
        case .deadline: throw .deadlineExceeded(stage: .load)
        case .cancelled: throw .cancelled(stage: .load)
        }
    }

    private func ending() async -> Ending {
        await withCheckedContinuation { continuation in
            let ending = state.withLock { state -> Ending? in
                if state.ending == nil { state.waiter = continuation }
                return state.ending
            }
            if let ending { continuation.resume(returning: ending) }
        }
    }

    /// Ends the wait. Only the first call has an effect.
    func end(_ ending: Ending) {
        let waiter = state.withLock { state -> CheckedContinuation<Ending, Never>? in
            guard state.ending == nil else { return nil }
            state.ending = ending
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: ending)
    }
}

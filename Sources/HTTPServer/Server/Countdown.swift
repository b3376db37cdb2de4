internal import SystemSupport

/// Lets one task wait until something has happened a number of times.
final class Countdown: Sendable {
    private struct State {
        var left: Int
        var waiter: CheckedContinuation<Void, Never>?
    }
    private let state: Guarded<State>

    init(_ count: Int) {
        state = Guarded(State(left: count))
    }

    func arrive() {
        take { $0 -= 1 }
    }

    /// As if it had happened often enough.
    func finish() {
        take { $0 = 0 }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let done = state.withLock { state in
                guard state.left > 0 else { return true }
                state.waiter = continuation
                return false
            }
            if done { continuation.resume() }
        }
    }

    private func take(_ change: (inout Int) -> Void) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            change(&state.left)
            guard state.left <= 0 else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}

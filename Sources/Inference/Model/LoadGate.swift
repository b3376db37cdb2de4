internal import Synchronization

/// Lets some loads run at a time, and the others wait in the order that they came: each may take most of the memory and all
/// processors.
final class LoadGate: Sendable {
    private struct State {
        var limit: Int
        var running = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(limit: Int) { state = Mutex(State(limit: max(1, limit))) }

    /// Changes how many may run; those that run already continue.
    func use(limit: Int) {
        let next = state.withLock { state in
            state.limit = max(1, limit)
            return Self.admit(&state)
        }
        for waiter in next { waiter.resume() }
    }

    /// Runs a load when fewer than the limit run.
    func run<Value: Sendable>(_ load: @Sendable () async -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let next = state.withLock { state in
                state.waiting.append(continuation)
                return Self.admit(&state)
            }
            for waiter in next { waiter.resume() }
        }
        defer {
            let next = state.withLock { state in
                state.running -= 1
                return Self.admit(&state)
            }
            for waiter in next { waiter.resume() }
        }
        return await load()
    }

    private static func admit(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        let count = min(state.waiting.count, max(0, state.limit - state.running))
        defer { state.waiting.removeFirst(count) }
        state.running += count
        return Array(state.waiting.prefix(count))
    }
}

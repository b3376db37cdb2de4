internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// Limits the number of loads that run at the same time; the others wait, the cheapest first. Each load may take most
/// of the memory and all processors. See ``LoadQueue``.
package final class LoadGate: Sendable {
    /// A load's entry in the queue.
    package struct Ticket: Sendable {
        fileprivate let id: Int
    }

    private struct State {
        var queue: LoadQueue
        /// Loads that may begin and have not called ``run(_:_:)`` yet.
        var admitted: Set<Int> = []
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state: Mutex<State>
    private let patience: Duration

    /// - Parameter patience: the time after which a load no longer delays the others.
    package init(limit: Int, patience: Duration = .seconds(5)) {
        state = Mutex(State(queue: LoadQueue(limit: limit)))
        self.patience = patience
    }

    /// Sets the number of parallel loads; those that run continue.
    package func use(limit: Int) { change { $0.limit = limit } }

    /// Queues a load. ``run(_:_:)`` must be called with the ticket.
    package func arrive(_ cost: LoadCost) -> Ticket { Ticket(id: change { $0.arrive(cost) }) }

    /// Runs a load when it is admitted.
    package func run<Value: Sendable>(_ ticket: Ticket, _ load: @Sendable () async -> Value) async -> Value {
        let id = ticket.id
        await withCheckedContinuation { continuation in
            let mayBegin = state.withLock { state in
                if state.admitted.remove(id) != nil { return true }
                state.waiters[id] = continuation
                return false
            }
            if mayBegin { continuation.resume() }
        }
        let timer = DeadlineTimer.shared.schedule(at: .now + patience) { self.change { $0.isLate(id) } }
        defer {
            DeadlineTimer.shared.remove(timer)
            change { $0.end(id) }
        }
        return await load()
    }

    @discardableResult
    private func change<Value>(_ change: (inout LoadQueue) -> Value) -> Value {
        let (value, waiters) = state.withLock { state in
            let value = change(&state.queue)
            var waiters: [CheckedContinuation<Void, Never>] = []
            for id in state.queue.admit() {
                if let waiter = state.waiters.removeValue(forKey: id) {
                    waiters.append(waiter)
                } else {
                    state.admitted.insert(id)
                }
            }
            return (value, waiters)
        }
        for waiter in waiters { waiter.resume() }
        return value
    }
}

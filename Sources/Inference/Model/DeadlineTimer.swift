internal import Dispatch
internal import FlowControl
internal import Synchronization

/// Does something when a deadline passes, unless it is told before that it need not.
///
/// One for the process. It is armed for the earliest deadline only: in the usual case (a deadline of a minute, an inference
/// of milliseconds) entries come and go without the timer being touched.
final class DeadlineTimer: Sendable {
    static let shared = DeadlineTimer()

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "ocelli.deadlines")

    private struct State {
        var entries: [UInt64: (deadline: MonotonicInstant, action: @Sendable () -> Void)] = [:]
        var nextID: UInt64 = 0
        /// When the timer will look; nil when it sleeps.
        var armed: MonotonicInstant?
    }

    /// Calls `action` when the deadline has come. It is called under a lock and must be short and call nothing of this
    /// timer.
    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> UInt64 {
        let (id, isEarliest) = state.withLock { state in
            state.nextID &+= 1
            state.entries[state.nextID] = (deadline, action)
            guard state.armed.map({ deadline < $0 }) ?? true else { return (state.nextID, false) }
            state.armed = deadline
            return (state.nextID, true)
        }
        if isEarliest { arm(for: deadline) }
        return id
    }

    /// Forgets an entry. When this returns its action is not running and will not run.
    func remove(_ id: UInt64) {
        _ = state.withLock { $0.entries.removeValue(forKey: id) }
    }

    private func arm(for deadline: MonotonicInstant) {
        let wait = deadline.nanoseconds(since: .now)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: wait))) { self.look(armedFor: deadline) }
    }

    private func look(armedFor deadline: MonotonicInstant) {
        let next: MonotonicInstant? = state.withLock { state in
            // An earlier deadline has come after this look was planned: its own look does the work.
            guard state.armed == deadline else { return nil }
            let now = MonotonicInstant.now
            for (id, entry) in state.entries where entry.deadline <= now {
                state.entries[id] = nil
                entry.action()
            }
            state.armed = state.entries.values.map(\.deadline).min()
            return state.armed
        }
        if let next { arm(for: next) }
    }
}

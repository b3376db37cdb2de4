internal import Dispatch
internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// Runs actions when deadlines pass, unless they are removed before.
///
/// The process has one instance. It is armed for the earliest deadline only: in the usual case (a deadline of a minute,
/// an inference of milliseconds) entries are added and removed without touching the timer.
final class DeadlineTimer: Sendable {
    static let shared = DeadlineTimer()

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "ocelli.deadlines")

    private struct State {
        var entries: [UInt64: (deadline: MonotonicInstant, action: @Sendable () -> Void)] = [:]
        var nextID: UInt64 = 0
        /// The deadline that the timer is armed for; nil if it is not armed.
        var armed: MonotonicInstant?
        /// The number of times it was armed: only the last scheduled check is valid.
        var turn: UInt64 = 0
    }

    /// Calls `action` when the deadline passes. The action runs under a lock, must be short, and must not call this
    /// timer.
    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> UInt64 {
        let (id, turn) = state.withLock { state -> (UInt64, UInt64?) in
            state.nextID &+= 1
            state.entries[state.nextID] = (deadline, action)
            guard state.armed.map({ deadline < $0 }) ?? true else { return (state.nextID, nil) }
            state.armed = deadline
            state.turn &+= 1
            return (state.nextID, state.turn)
        }
        if let turn { plan(turn, for: deadline) }
        return id
    }

    /// Removes an entry. When this returns, its action is not running and will not run.
    func remove(_ id: UInt64) {
        _ = state.withLock { $0.entries.removeValue(forKey: id) }
    }

    /// The maximum time until the next check, in nanoseconds. An obsolete check stays scheduled until its time: without
    /// this limit they would accumulate, one for each short deadline among long ones.
    private static let longest: UInt64 = 1_000_000_000

    private func plan(_ turn: UInt64, for deadline: MonotonicInstant) {
        let wait = min(deadline.nanoseconds(since: .now), Self.longest)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: wait))) { self.check(turn) }
    }

    private func check(_ turn: UInt64) {
        let next = state.withLock { state -> (turn: UInt64, deadline: MonotonicInstant)? in
            // An earlier deadline was added after this check was scheduled: its own check does the work.
            guard state.turn == turn else { return nil }
            let now = MonotonicInstant.now
            for (id, entry) in state.entries where entry.deadline <= now {
                state.entries[id] = nil
                entry.action()
            }
            state.armed = state.entries.values.map(\.deadline).min()
            guard let armed = state.armed else { return nil }
            state.turn &+= 1
            return (state.turn, armed)
        }
        if let next { plan(next.turn, for: next.deadline) }
    }
}

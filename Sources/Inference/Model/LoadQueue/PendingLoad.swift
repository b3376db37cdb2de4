internal import FlowControl
internal import Synchronization
package import SystemSupport

/// The future result of a load, for any number of waiters. A task that stops waiting leaves no entry, however long the
/// load takes and however many tasks wait.
package final class PendingLoad<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waits: [ObjectIdentifier: LoadWait<Value>] = [:]
    }

    private let state = Mutex(State())

    /// A load that has not ended.
    package init() {}

    /// Completes the load: all present and later waiters get this value. Must be called once.
    package func fulfil(_ value: Value) {
        let waits = state.withLock { state in
            state.value = value
            defer { state.waits = [:] }
            return state.waits.values
        }
        for wait in waits { wait.end(.value(value)) }
    }

    /// Waits for the value.
    /// - Parameter deadline: the end of the wait; nil waits without a limit.
    /// - Throws: if the deadline passes, or the calling task is cancelled, before the load ends.
    package func value(until deadline: MonotonicInstant?) async throws(InferenceError) -> Value {
        let wait = LoadWait<Value>()
        let there = state.withLock { state in
            if state.value == nil { state.waits[ObjectIdentifier(wait)] = wait }
            return state.value
        }
        if let there { return there }
        defer { _ = state.withLock { $0.waits.removeValue(forKey: ObjectIdentifier(wait)) } }
        return try await wait.value(until: deadline)
    }
}

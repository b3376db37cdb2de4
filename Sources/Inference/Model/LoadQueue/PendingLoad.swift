internal import FlowControl
internal import Synchronization
package import SystemSupport

/// The future result of a load, for any number of waiters. A task that stops waiting leaves nothing behind, however
/// long the load takes and however many waiters there are.
package final class PendingLoad<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waits: [ObjectIdentifier: LoadWait<Value>] = [:]
    }

    private let state = Mutex(State())

    /// A load that has not ended.
    package init() {}

    /// The load is over: all who wait have its value, and all who come later. Once.
    package func fulfil(_ value: Value) {
        let waits = state.withLock { state in
            state.value = value
            defer { state.waits = [:] }
            return state.waits.values
        }
        for wait in waits { wait.end(.value(value)) }
    }

    /// The value, once it is there.
    /// - Parameter deadline: until when it is waited for; nil for as long as it takes.
    /// - Throws: where the deadline has passed, or the calling task was cancelled, before.
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

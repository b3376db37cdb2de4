package import SystemSupport

/// Decides the next action of the daemon after each event: a pure state machine, without clock, I/O or tasks.
///
/// ```
/// starting ──▶ serving ⇄ reloading          any of them ──terminate──▶ draining ──▶ ended
///                          (again, if requested meanwhile)
/// ```
///
/// Requests for a reload during a reload are met by one more reload after it: the files may have changed after the
/// running one read them. A signal to end waits for neither the start nor a reload.
package struct LifecycleMachine: Sendable {
    /// The extent of a reload.
    package enum Scope: Sendable, Hashable {
        /// Models with changed files (a watched folder).
        case changedModels
        /// Everything that depends on the limits of the process, after they changed (a control group).
        case limits
        /// The configuration and all models (SIGHUP).
        case everything
    }

    package enum Event: Sendable, Hashable {
        /// The models were loaded at start, or failed to load.
        case started
        /// A reload is requested.
        case reload(Scope)
        /// The reload is over.
        case reloaded
        /// A signal to end the daemon arrived (SIGTERM, SIGINT and others).
        case terminate(SignalReader.Signal, at: MonotonicInstant)
        /// The drain ended, with every request answered or its time over; the exit status.
        case drained(Int32)
        /// The daemon cannot continue.
        case failed(String)
    }

    package enum Action: Sendable, Hashable {
        /// Tell the service manager that the daemon is ready.
        case announce
        /// Reload; ``Event/reloaded`` ends it.
        case reload(Scope)
        /// Answer the accepted requests; ``Event/drained(_:)`` ends it.
        case drain
        /// End normally with a status. If models are being loaded, the end does not wait for the engine.
        case end(Int32, isLoading: Bool)
        /// End because of a failure.
        case fail(String, isLoading: Bool)
        /// End at once, after a second signal.
        case abort
    }

    private enum Phase: Sendable {
        case starting, serving, reloading, draining, ended
    }

    /// A signal that is repeated within this time counts once: `timeout` and some service managers send it both to a
    /// process and to its group.
    private static let repetition: Duration = .seconds(1)

    private var phase = Phase.starting
    /// The signal that began the drain.
    private var first: (signal: SignalReader.Signal, at: MonotonicInstant)?
    /// The reloads to run next, at most one of each scope.
    private var pendingScopes: [Scope] = []
    /// True during the start or a reload; a drain does not wait for them.
    private var isLoading = true

    package init() {}

    /// Handles an event. Returns the actions to perform, in order.
    package mutating func handle(_ event: Event) -> [Action] {
        switch (event, phase) {
        case (_, .ended): return []
        case (.started, _), (.reloaded, _):
            isLoading = false
            guard phase != .draining else { return [] }
            phase = .serving
            return [.announce] + reloadIfWanted()
        case (.reload, .draining): return []
        case (.reload(let scope), _):
            // A reload of everything includes the other scopes.
            if scope == .everything { pendingScopes = [] }
            if !pendingScopes.contains(.everything), !pendingScopes.contains(scope) { pendingScopes.append(scope) }
            return phase == .serving ? reloadIfWanted() : []
        case (.terminate(let signal, let time), .draining):
            if let first, signal == first.signal, time - first.at < Self.repetition { return [] }
            phase = .ended
            return [.abort]
        case (.terminate(let signal, let time), _):
            first = (signal, time)
            phase = .draining
            return [.drain]
        case (.drained(let status), _):
            phase = .ended
            return [.end(status, isLoading: isLoading)]
        // The end of the drain reports the result.
        case (.failed, .draining): return []
        case (.failed(let reason), _):
            phase = .ended
            return [.fail(reason, isLoading: isLoading)]
        }
    }

    private mutating func reloadIfWanted() -> [Action] {
        guard !pendingScopes.isEmpty else { return [] }
        let scope = pendingScopes.removeFirst()
        isLoading = true
        phase = .reloading
        return [.reload(scope)]
    }
}

package import SystemSupport

/// Decides the next action of the daemon after each event: a pure state machine, without clock, I/O or tasks.
///
/// ```
/// starting ──▶ serving ⇄ reloading          any of them ──terminate──▶ draining ──▶ ended
///                          (again, where it was asked for meanwhile)
/// ```
///
/// A reload that is asked for while one runs is done after it, once for all who asked: the files may have changed after
/// the running one has read them. A signal to end waits for neither start nor reload.
package struct LifecycleMachine: Sendable {
    /// The extent of a reload.
    package enum Scope: Sendable, Hashable {
        /// Models whose files have changed (a watched folder).
        case changedModels
        /// Everything that depends on what the process may use, which has changed (a control group).
        case limits
        /// The configuration and all models (SIGHUP).
        case everything
    }

    package enum Event: Sendable, Hashable {
        /// The models that are loaded at start have been, or could not be.
        case started
        /// A reload is asked for.
        case reload(Scope)
        /// The reload is over.
        case reloaded
        /// A signal asks for the end (SIGTERM, SIGINT and others).
        case terminate(SignalReader.Signal, at: MonotonicInstant)
        /// Everything is answered, or the time for it is up: the exit status.
        case drained(Int32)
        /// The daemon cannot continue.
        case failed(String)
    }

    package enum Action: Sendable, Hashable {
        /// Tell the service manager that the daemon is ready.
        case announce
        /// Reload; ``Event/reloaded`` ends it.
        case reload(Scope)
        /// Answer what was accepted; ``Event/drained(_:)`` ends it.
        case drain
        /// End in good order with a status. Where models are being loaded, the end does not wait for the engine.
        case end(Int32, isLoading: Bool)
        /// End because of a failure.
        case fail(String, isLoading: Bool)
        /// End at once: a second signal came.
        case abort
    }

    private enum Phase: Sendable {
        case starting, serving, reloading, draining, ended
    }

    /// The same signal within this time is the same one: `timeout` and some service managers send it to a process and
    /// to its group.
    private static let repetition: Duration = .seconds(1)

    private var phase = Phase.starting
    /// The signal that began the drain.
    private var first: (signal: SignalReader.Signal, at: MonotonicInstant)?
    /// The reloads that are to follow: one of a scope for all who ask meanwhile.
    private var wanted: [Scope] = []
    /// The start or a reload is under way, which a drain does not wait for.
    private var isLoading = true

    package init() {}

    /// Handles an event. Returns the actions to be done, in order.
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
            // A reload of everything includes the rest.
            if scope == .everything { wanted = [] }
            if !wanted.contains(.everything), !wanted.contains(scope) { wanted.append(scope) }
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
        guard !wanted.isEmpty else { return [] }
        let scope = wanted.removeFirst()
        isLoading = true
        phase = .reloading
        return [.reload(scope)]
    }
}

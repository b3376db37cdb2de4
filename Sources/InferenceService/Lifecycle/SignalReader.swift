@preconcurrency internal import Dispatch
internal import Glibc
internal import Synchronization

/// Turns signals into values that a task can wait for. SIGPIPE is ignored: a vanished reader is an error of a write.
final class SignalReader: Sendable {
    enum Signal: Sendable, CaseIterable {
        case terminate, interrupt, hangUp

        var number: Int32 {
            switch self {
            case .terminate: SIGTERM
            case .interrupt: SIGINT
            case .hangUp: SIGHUP
            }
        }
    }

    enum Event: Sendable {
        case signal(Signal)
        case failure(String)
    }

    /// Sendable in effect: made in `init`, and only kept alive after it.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]
    private let state = Mutex(State())

    private struct State {
        var pending: [Event] = []
        var waiter: CheckedContinuation<Event, Never>?
    }

    init(_ signals: [Signal]) {
        Glibc.signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "ocelli.signals")
        sources = signals.map { signal in
            // The default action would end the process before the source is told.
            Glibc.signal(signal.number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: signal.number, queue: queue)
        }
        for (signal, source) in zip(signals, sources) {
            source.setEventHandler { [weak self] in self?.deliver(.signal(signal)) }
            source.resume()
        }
    }

    /// Ends the wait for another reason than a signal.
    func fail(_ reason: String) { deliver(.failure(reason)) }

    /// The next event; one task at a time may wait.
    func next() async -> Event {
        await withCheckedContinuation { continuation in
            let event: Event? = state.withLock { state in
                if !state.pending.isEmpty { return state.pending.removeFirst() }
                state.waiter = continuation
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    private func deliver(_ event: Event) {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            // Signals that nobody waits for are few: past a handful they say nothing new.
            if state.waiter == nil, state.pending.count < 16 { state.pending.append(event) }
            return state.waiter
        }
        waiter?.resume(returning: event)
    }
}

/// The end of the process.
enum Process {
    /// Ends at once, without waiting for anything.
    static func exit(_ status: Int32) -> Never { _exit(status) }
}

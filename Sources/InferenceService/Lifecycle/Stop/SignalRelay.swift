internal import ServiceCore
internal import Synchronization
internal import SystemSupport

/// Passes signals on to the life cycle, once it exists. Before that the daemon reads the model folders and opens the
/// sockets, which may take long on a slow file system: a signal to end it does so at once, because no request was
/// accepted. Thread-safe.
final class SignalRelay: Sendable {
    private struct Receiver: Sendable {
        let deliver: @Sendable (SignalReader.Signal) -> Void
        let fail: @Sendable (String) -> Void
    }

    private struct State {
        var receiver: Receiver?
        /// The signals that arrived before there was a receiver.
        var wantsReload = false
        var wantsEnd: SignalReader.Signal?
        /// True if a signal to end must wait for the receiver.
        var holds = false
        var failure: String?
    }

    private let state = Mutex(State())
    private let log: Log

    init(log: Log) { self.log = log }

    /// Starts to read signals.
    func start() throws(CommandError) {
        try SignalReader.start(deliver: { self.deliver($0) }, fail: { self.fail($0) })
    }

    /// Sets the receiver, and delivers the signals that have arrived.
    func attach(
        deliver: @escaping @Sendable (SignalReader.Signal) -> Void, fail: @escaping @Sendable (String) -> Void
    ) {
        let early = state.withLock { state in
            state.receiver = Receiver(deliver: deliver, fail: fail)
            return state
        }
        if let failure = early.failure { return fail(failure) }
        if early.wantsReload { deliver(.hangUp) }
        if let signal = early.wantsEnd { deliver(signal) }
    }

    /// Makes signals wait for the receiver from now on, because connections are being accepted.
    func hold() { state.withLock { $0.holds = true } }

    private func deliver(_ signal: SignalReader.Signal) {
        let (receiver, waits) = state.withLock { state -> (Receiver?, Bool) in
            if state.receiver == nil {
                if signal == .hangUp {
                    state.wantsReload = true
                } else if state.wantsEnd == nil {
                    state.wantsEnd = signal
                }
            }
            return (state.receiver, state.holds || signal == .hangUp)
        }
        if let receiver { return receiver.deliver(signal) }
        guard !waits else { return }
        log.notice("stopped by a signal before it was listening")
        log.flushBlocking(within: .milliseconds(200))
        Process.exit(0)
    }

    private func fail(_ reason: String) {
        let receiver = state.withLock { state -> Receiver? in
            state.failure = reason
            return state.receiver
        }
        receiver?.fail(reason)
    }
}

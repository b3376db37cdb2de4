import CSystem
import Synchronization

/// What other threads have to say to an event loop.
enum LoopMessage: Sendable {
    /// A handler's task is done.
    case completed(descriptor: Int32, registration: UInt32, HTTPResponse, at: UInt64)
    /// Bodies gave budget back while somebody waited for it.
    case budgetFreed
    /// Stop accepting, close what is idle; call back when no connection has a request.
    case drain(whenEmpty: @Sendable () -> Void)
    /// Close everything and end the loop; calls back with the number of requests that were lost.
    case stop(done: @Sendable (Int) -> Void)
}

/// The queue of messages to an event loop, and the eventfd that wakes it.
///
/// The eventfd is written only if the loop is asleep or about to be: under load completions cost a lock, not a system
/// call.
final class Mailbox: Sendable {
    private struct State {
        var messages: [LoopMessage] = []
        var asleep = false
    }
    private let state: Mutex<State>
    /// The eventfd, for epoll.
    let descriptor: Int32

    /// A mailbox with a new eventfd, or the negated errno.
    init() throws(HTTPServerError) {
        let descriptor = csys_eventfd()
        guard descriptor >= 0 else { throw .system(operation: "eventfd", errno: -descriptor) }
        self.descriptor = descriptor
        state = Mutex(State())
    }

    deinit {
        csys_close(descriptor)
    }

    /// Delivers a message, from any thread.
    func post(_ message: LoopMessage) {
        let wake = state.withLock { state in
            state.messages.append(message)
            defer { state.asleep = false }
            return state.asleep
        }
        if wake { csys_eventfd_signal(descriptor) }
    }

    /// Called by the loop before it waits: true if it may sleep, false if there are messages.
    func prepareToSleep() -> Bool {
        state.withLock { state in
            state.asleep = state.messages.isEmpty
            return state.asleep
        }
    }

    /// Called by the loop when it has waited: exchanges the messages for the (empty) array given.
    func collect(into messages: inout [LoopMessage]) {
        state.withLock { state in
            state.asleep = false
            if !state.messages.isEmpty { swap(&state.messages, &messages) }
        }
    }
}

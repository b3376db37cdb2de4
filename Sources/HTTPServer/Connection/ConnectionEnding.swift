/// The reason why a connection is closed.
package enum ConnectionEnding: Sendable, Hashable {
    /// Normally: after an answer with `Connection: close`, or by the client between requests.
    case finished
    /// The client disconnected before its answer was complete.
    case clientGone
    /// Idle timeout.
    case idle
    /// The client did not read its answer.
    case slowReader
    /// The server is shutting down.
    case drained
    /// Another connection needed the room.
    case evicted

    /// True if the socket is closed with RST if it holds answers: the kernel drops them instead of keeping them for a
    /// client that does not read. Never of one that ends normally: its client may be reading.
    var dropsAnswers: Bool {
        switch self {
        case .clientGone, .slowReader, .evicted: true
        case .finished, .idle, .drained: false
        }
    }
}

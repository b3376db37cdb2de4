/// The reason why a connection is closed.
package enum ConnectionEnding: Sendable, Hashable {
    /// The normal end: after an answer with `Connection: close`, or by the client between requests.
    case finished
    /// The client disconnected before its answer was complete.
    case clientGone
    /// The idle timeout has passed.
    case idle
    /// The client did not read its answer in time.
    case slowReader
    /// The server is shutting down.
    case drained
    /// The connection was closed to make room for another one.
    case evicted

    /// True if the socket is closed with RST while it holds answers: the kernel then drops them instead of keeping them
    /// for a client that does not read. False for a normal end, because the client may still be reading.
    var dropsAnswers: Bool {
        switch self {
        case .clientGone, .slowReader, .evicted: true
        case .finished, .idle, .drained: false
        }
    }
}

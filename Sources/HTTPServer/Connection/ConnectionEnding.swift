/// Why a connection is closed.
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
}

/// Why a connection is closed.
package enum ConnectionEnding: Sendable, Hashable {
    /// In order: after an answer that said so, or by the client between requests.
    case finished
    /// The client is gone while something was due to it.
    case clientGone
    /// Nothing came for the idle timeout.
    case idle
    /// The client did not take its answer.
    case slowReader
    /// The server is shutting down.
    case drained
    /// Another connection needed the room.
    case evicted
}

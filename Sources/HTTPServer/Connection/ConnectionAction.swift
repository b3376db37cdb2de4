/// What the owner of a `ConnectionMachine` is to do next.
package enum ConnectionAction: Sendable, Hashable {
    /// Nothing, until the next event.
    case wait
    /// Parse what is buffered, or receive, for the next head.
    case readHead
    /// Receive the body; say 100 (Continue) first if asked to.
    case readBody(sendContinue: Bool)
    /// Receive what is left of a refused body and throw it away.
    case skipBody
    /// The request is whole: start its handler.
    case dispatch
    /// Answer this fault, as `ConnectionMachine.answered` says.
    case fail(ConnectionFault)
    /// Send 102 (Processing): a vanished client's kernel answers it with RST.
    case probe
    /// Everything is sent: shut down the sending side, then receive and throw away until the client ends its side.
    case linger
    /// Close the socket; cancel the handler if there is one.
    case close(ConnectionEnding)
}

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

/// How an answer is to be sent.
package struct AnswerPlan: Sendable, Hashable {
    /// False: `Connection: close`.
    package let keepAlive: Bool
    /// HTTP/1.0 clients that asked for it are told that the connection is kept.
    package let sayKeepAlive: Bool
    /// The request was HEAD: the body's length is said, the body not sent.
    package let omitBody: Bool
}

/// What matters of a request's head to the connection.
package struct RequestTraits: Sendable, Hashable {
    package var isHead = false
    package var isHTTP10 = false
    package var keepAlive = true
    package var expectsContinue = false
    /// Length of the body; nil if it is chunked.
    package var bodyLength: UInt64? = 0

    package init(
        isHead: Bool = false, isHTTP10: Bool = false, keepAlive: Bool = true, expectsContinue: Bool = false,
        bodyLength: UInt64? = 0
    ) {
        self.isHead = isHead
        self.isHTTP10 = isHTTP10
        self.keepAlive = keepAlive
        self.expectsContinue = expectsContinue
        self.bodyLength = bodyLength
    }
}

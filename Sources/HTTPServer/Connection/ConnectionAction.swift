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

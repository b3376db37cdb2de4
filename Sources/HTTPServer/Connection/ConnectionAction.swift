/// The next step for the owner of a `ConnectionMachine`.
package enum ConnectionAction: Sendable, Hashable {
    /// Nothing, until the next event.
    case wait
    /// Parse what is buffered, or receive, for the next head.
    case readHead
    /// Receive the body; say 100 (Continue) first if asked to.
    case readBody(sendContinue: Bool)
    /// Receive and discard the rest of a refused body.
    case skipBody
    /// The request is whole: start its handler.
    case dispatch
    /// Answer this fault, as `ConnectionMachine.answered` says.
    case fail(ConnectionFault)
    /// Send 102 (Processing), once a request: a vanished client's kernel answers it with RST.
    case probe
    /// Everything is sent: shut down the sending side, then receive and discard until the client closes its side.
    case linger
    /// Close the socket, for this reason, when the client has taken what it holds.
    case finish(ConnectionEnding)
    /// Close the socket; cancel the handler if there is one.
    case close(ConnectionEnding)
}

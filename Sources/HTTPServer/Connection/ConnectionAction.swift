/// The next action for the owner of a `ConnectionMachine`.
package enum ConnectionAction: Sendable, Hashable {
    /// Do nothing until the next event.
    case wait
    /// Read the next head: parse the buffered bytes or receive more.
    case readHead
    /// Receive the body. `sendContinue`: send 100 (Continue) first.
    case readBody(sendContinue: Bool)
    /// Receive and discard the rest of a refused body.
    case skipBody
    /// The request is complete: start its handler.
    case dispatch
    /// Answer this fault, as `ConnectionMachine.answered` specifies.
    case fail(ConnectionFault)
    /// Send 102 (Processing), at most once per request: the kernel of a client that no longer exists answers it with
    /// RST.
    case probe
    /// All bytes are sent: shut down the sending side, then receive and discard until the client closes its side.
    case linger
    /// Close the socket for this reason once the client has taken the bytes that the socket holds.
    case finish(ConnectionEnding)
    /// Close the socket and cancel the handler, if one runs.
    case close(ConnectionEnding)
}

public import HTTPWire
public import SystemSupport

/// A complete request, as a `RequestHandler` gets it.
public struct HTTPRequest: Sendable {
    /// Request line and header fields.
    public let head: RequestHead
    /// The complete body; empty if there is none. Its memory is held as long as it is referenced.
    public let body: HTTPBody
    /// The client's `X-Request-ID` if it is valid, otherwise a generated one.
    public let requestID: String
    /// The peer: `127.0.0.1:4242`, `[::1]:4242` or `unix`.
    public let remote: String
    /// The time when the first byte of the request was received.
    public let headReceived: MonotonicInstant
    /// The time when its last byte was received.
    public let bodyReceived: MonotonicInstant

    /// A request for tests and other transports.
    public init(
        head: RequestHead, body: HTTPBody, requestID: String, remote: String,
        headReceived: MonotonicInstant = MonotonicInstant(nanoseconds: 0),
        bodyReceived: MonotonicInstant = MonotonicInstant(nanoseconds: 0)
    ) {
        self.head = head
        self.body = body
        self.requestID = requestID
        self.remote = remote
        self.headReceived = headReceived
        self.bodyReceived = bodyReceived
    }

    /// The same request with a body of the same bytes.
    package func holding(_ body: HTTPBody) -> HTTPRequest {
        HTTPRequest(
            head: head, body: body, requestID: requestID, remote: remote, headReceived: headReceived,
            bodyReceived: bodyReceived)
    }
}

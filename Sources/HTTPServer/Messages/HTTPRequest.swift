public import HTTPWire
public import SystemSupport

/// A complete request, as passed to a `RequestHandler`.
public struct HTTPRequest: Sendable {
    /// The request line and the header fields.
    public let head: RequestHead
    /// The complete body; empty if the request has none. Its memory is held as long as it is referenced.
    public let body: HTTPBody
    /// The client's `X-Request-ID` if it is valid, otherwise a generated one.
    public let requestID: String
    /// The peer: `127.0.0.1:4242`, `[::1]:4242` or `unix`.
    public let remote: String
    /// The time when the first byte of the request was received.
    public let headReceived: MonotonicInstant
    /// The time when the last byte of the request was received.
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

    /// A copy of this request with another body object of equal bytes.
    package func holding(_ body: HTTPBody) -> HTTPRequest {
        HTTPRequest(
            head: head, body: body, requestID: requestID, remote: remote, headReceived: headReceived,
            bodyReceived: bodyReceived)
    }
}

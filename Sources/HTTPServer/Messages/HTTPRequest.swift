public import HTTPWire
public import SystemSupport

/// One whole request, as a `RequestHandler` gets it.
public struct HTTPRequest: Sendable {
    /// Request line and header fields.
    public let head: RequestHead
    /// The body, received whole; empty where there is none. Its memory lives as long as something holds it.
    public let body: HTTPBody
    /// The client's `X-Request-ID` if it is a sane one, else one that was made for this request.
    public let requestID: String
    /// The peer: `127.0.0.1:4242`, `[::1]:4242` or `unix`.
    public let remote: String
    /// Whether the peer is a proxy that sends PROXY headers, for any client.
    public let isProxied: Bool
    /// When the request's first byte was seen.
    public let headReceived: MonotonicInstant
    /// When its last byte was seen.
    public let bodyReceived: MonotonicInstant

    /// A request as a test or another transport makes it.
    public init(
        head: RequestHead, body: HTTPBody, requestID: String, remote: String, isProxied: Bool = false,
        headReceived: MonotonicInstant = MonotonicInstant(nanoseconds: 0),
        bodyReceived: MonotonicInstant = MonotonicInstant(nanoseconds: 0)
    ) {
        self.head = head
        self.body = body
        self.requestID = requestID
        self.remote = remote
        self.isProxied = isProxied
        self.headReceived = headReceived
        self.bodyReceived = bodyReceived
    }
}

public import HTTPWire
public import SystemSupport

/// The record of one request and its outcome, for logs, metrics and traces. A time is 0 if its stage was never reached.
public struct ExchangeRecord: Sendable {
    /// The stage that a request had reached.
    public enum Stage: String, Sendable, CaseIterable {
        /// The head was being received.
        case head
        /// The body was being received.
        case body
        /// The handler was running.
        case handling
        /// The answer was being sent.
        case answering
    }

    /// The outcome of a request. The strings are labels from a fixed set.
    public enum Outcome: Sendable, Hashable {
        /// The complete answer was written to the socket.
        case answered
        /// The client disconnected (or did not read its answer in time) in this stage.
        case clientGone(Stage)
        /// The request was malformed or over a limit; it was answered, and the connection was closed.
        case protocolError(String)
        /// The client was too slow; it was answered, and the connection was closed.
        case timedOut(String)
    }

    /// The request's identifier, as in its answer.
    public var requestID: String
    /// The peer: `127.0.0.1:4242`, `[::1]:4242` or `unix`.
    public var remote: String
    /// The sender of the request: the peer, or the address that trusted proxies name
    /// (``HTTPServerConfiguration/trustedProxies``), with its port if that is known.
    public var client: String
    /// The method; nil if no head was parsed.
    public var method: HTTPMethod?
    /// The head; nil if none was parsed.
    public var head: RequestHead?
    /// The decoded path of the target; empty if no head was parsed. Computed on each call.
    public var path: String { head?.target.path ?? "" }
    /// The status of the answer; nil without an answer.
    public var status: HTTPStatus?
    /// The value of `HTTPResponse.tag`.
    public var tag: String
    /// The value of `HTTPResponse.note`.
    public var note: (any Sendable)?
    /// The number of content bytes received.
    public var bodyBytesReceived: Int
    /// The number of content bytes in the answer.
    public var bodyBytesSent: Int
    /// The time when the first byte of the request was received.
    public var firstByte: MonotonicInstant
    /// The time when the last byte of the request was received.
    public var bodyEnd: MonotonicInstant
    /// The time when the handler returned its answer.
    public var responseReady: MonotonicInstant
    /// The time when the last byte of the answer was written to the socket, or the connection ended.
    public var end: MonotonicInstant
    /// The outcome of the request.
    public var outcome: Outcome

    // Wide: a record, in the order of its fields.
    package init(
        requestID: String, remote: String, client: String? = nil, method: HTTPMethod?, head: RequestHead?,
        status: HTTPStatus?, tag: String, note: (any Sendable)? = nil, bodyBytesReceived: Int, bodyBytesSent: Int,
        firstByte: MonotonicInstant, bodyEnd: MonotonicInstant, responseReady: MonotonicInstant, end: MonotonicInstant,
        outcome: Outcome
    ) {
        self.requestID = requestID
        self.remote = remote
        self.client = client ?? remote
        self.method = method
        self.head = head
        self.status = status
        self.tag = tag
        self.note = note
        self.bodyBytesReceived = bodyBytesReceived
        self.bodyBytesSent = bodyBytesSent
        self.firstByte = firstByte
        self.bodyEnd = bodyEnd
        self.responseReady = responseReady
        self.end = end
        self.outcome = outcome
    }
}

/// Receives a record of every request when the request has ended.
public protocol HTTPServerObserver: AnyObject, Sendable {
    /// Receives the record of one request: one that was answered, or one whose client disconnected after its first
    /// byte. Called on the event loop: it must be quick and must not block.
    func exchangeEnded(_ record: ExchangeRecord)
}

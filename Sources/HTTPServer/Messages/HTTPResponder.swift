public import HTTPWire

/// Answers one request. Runs in its own task, which is cancelled when the client disconnects or when the time of a
/// shutdown is up; its result is then discarded.
public typealias RequestHandler = @Sendable (HTTPRequest) async -> HTTPResponse

/// The decision on a request when its head has arrived.
public enum BodyAdmission: Sendable {
    /// Receive the body, of at most this many bytes, and call the handler with the request. The handler holds the
    /// decisions of `admit`, so that they are not made twice.
    case accept(maxBytes: Int, handler: RequestHandler)
    /// Answer now, with an error or an answer that is ready (`/healthz`): this costs two system calls and no task. A
    /// body is not kept: a short one is skipped, a longer one ends the connection, and one that waits for 100
    /// (Continue) is never sent.
    case answer(HTTPResponse)
}

/// The connection on which a request arrived.
public struct RequestSource: Sendable {
    /// The peer: `127.0.0.1:4242`, `[::1]:4242` or `unix`.
    public let remote: String
    /// True if the peer is a proxy that sends PROXY headers, for any client.
    public let isProxied: Bool
    /// The sender, as in ``ExchangeRecord/client``.
    public let client: String
    /// The index of its listener in ``HTTPServerConfiguration/listeners``.
    public let listener: Int

    /// A source for tests and other transports.
    public init(remote: String, isProxied: Bool = false, client: String? = nil, listener: Int = 0) {
        self.remote = remote
        self.isProxied = isProxied
        self.client = client ?? remote
        self.listener = listener
    }
}

/// The application, as the server sees it.
public protocol HTTPResponder: Sendable {
    /// Decides on a request (route, limits, free capacity) before any byte of its body is read and before 100
    /// (Continue) is sent. Called on the event loop: it must not block, and must return within microseconds.
    func admit(_ head: RequestHead, requestID: String, from source: RequestSource) -> BodyAdmission

    /// True if a request is a health probe, which is answered even if all connections up to the limit are busy. Called
    /// on the event loop, only for connections beyond the limit.
    func isProbe(_ head: RequestHead) -> Bool

    /// Renders an error of the HTTP layer: malformed requests, timeouts, limits. Called on the event loop.
    func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse
}

extension HTTPResponder {
    /// False: no request is a probe.
    public func isProbe(_ head: RequestHead) -> Bool { false }

    /// `{"error": …, "code": …, "request_id": …}` with the error's status.
    public func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse {
        .error(error, requestID: requestID)
    }
}

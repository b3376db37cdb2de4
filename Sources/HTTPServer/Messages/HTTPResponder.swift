public import HTTPWire

/// Answers one request. Runs in its own task, which is cancelled when the client disconnects or the time of a shutdown
/// is up; its result is then discarded.
public typealias RequestHandler = @Sendable (HTTPRequest) async -> HTTPResponse

/// The decision on a request when its head has arrived.
public enum BodyAdmission: Sendable {
    /// Receive the body, of at most this many bytes, and call the handler with the request. What `admit` has decided is
    /// in the handler, so that nothing is decided twice.
    case accept(maxBytes: Int, handler: RequestHandler)
    /// Answer now, an error or an answer that is at hand (`/healthz`): the cost is two system calls, without a task.
    /// The body, if there is one, is not kept: a short one is skipped, a longer one ends the connection, and one that
    /// waits for 100 (Continue) is never sent.
    case answer(HTTPResponse)
}

/// The connection that a request came on.
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
    /// Decides on a request before any byte of its body is read and before 100 (Continue) is sent: route, limits,
    /// whether there is room. Called on the event loop: it must not block, and takes no longer than microseconds.
    func admit(_ head: RequestHead, requestID: String, from source: RequestSource) -> BodyAdmission

    /// True if a request is a probe of health: it is answered also where all connections that there may be are busy.
    /// Called on the event loop, for connections beyond the limit only.
    func isProbe(_ head: RequestHead) -> Bool

    /// Renders an error of the HTTP layer itself: malformed requests, timeouts, limits. Called on the event loop.
    func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse
}

extension HTTPResponder {
    /// No request is a probe.
    public func isProbe(_ head: RequestHead) -> Bool { false }

    /// `{"error": …, "code": …, "request_id": …}` with the error's status.
    public func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse {
        .error(error, requestID: requestID)
    }
}

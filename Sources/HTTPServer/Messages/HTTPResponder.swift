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

/// The application, as the server sees it.
public protocol HTTPResponder: Sendable {
    /// Decides on a request before any byte of its body is read and before 100 (Continue) is sent: route, limits,
    /// whether there is room. Called on the event loop: it must not block, and takes no longer than microseconds.
    /// - Parameters:
    ///   - client: the sender, as in ``ExchangeRecord/client``.
    ///   - listener: the place of the listener that it came to in ``HTTPServerConfiguration/listeners``.
    func admit(_ head: RequestHead, requestID: String, client: String, listener: Int) -> BodyAdmission

    /// Renders an error of the HTTP layer itself: malformed requests, timeouts, limits. Called on the event loop.
    func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse
}

extension HTTPResponder {
    /// `{"error": …, "code": …, "request_id": …}` with the error's status.
    public func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse {
        .error(error, requestID: requestID)
    }
}

/// The member `code` of a JSON error body, and what belongs to it: each code has one status. These are the codes of the
/// HTTP layer; higher layers add theirs in extensions.
public struct ErrorCode: Hashable, Sendable {
    /// The code's name in the JSON error body.
    public let rawValue: String
    /// The status of an answer with this code.
    public let status: HTTPStatus
    /// The value of Retry-After, in seconds, unless an error knows a better one.
    public let retryAfter: Int?

    package init(_ rawValue: String, _ status: HTTPStatus, retryAfter: Int? = nil) {
        self.rawValue = rawValue
        self.status = status
        self.retryAfter = retryAfter
    }

    /// 400: malformed HTTP.
    public static let badRequest = ErrorCode("bad_request", .badRequest)
    /// 408: the client is too slow.
    public static let requestTimeout = ErrorCode("request_timeout", .requestTimeout)
    /// 413: the body is over its limit.
    public static let bodyTooLarge = ErrorCode("body_too_large", .contentTooLarge)
    /// 414: the request line is over its limit.
    public static let uriTooLong = ErrorCode("uri_too_long", .uriTooLong)
    /// 417: an `Expect` other than `100-continue`.
    public static let expectationFailed = ErrorCode("expectation_failed", .expectationFailed)
    /// 421: an `https` target without TLS.
    public static let misdirectedRequest = ErrorCode("misdirected_request", .misdirectedRequest)
    /// 431: the fields are over their limit.
    public static let headersTooLarge = ErrorCode("headers_too_large", .headerFieldsTooLarge)
    /// 501: an unknown transfer coding or method.
    public static let notImplemented = ErrorCode("not_implemented", .notImplemented)
    /// 503: there is no room for the request.
    public static let overloaded = ErrorCode("overloaded", .serviceUnavailable, retryAfter: 1)
    /// 505: not HTTP/1.x.
    public static let versionNotSupported = ErrorCode("version_not_supported", .versionNotSupported)
}

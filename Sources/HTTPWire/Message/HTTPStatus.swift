/// A response's status code (RFC 9110 section 15).
public struct HTTPStatus: Hashable, Sendable, CustomStringConvertible {
    /// Three digits: 100 to 999.
    public let code: Int

    /// The status with that code. A code without three digits becomes 500, so that a status line is never malformed.
    public init(code: Int) { self.code = (100...999).contains(code) ? code : 500 }

    /// True for 1xx, 204 and 304: their responses never have a body (RFC 9110 section 6.4.1).
    public var forbidsBody: Bool { code < 200 || code == 204 || code == 304 }

    /// The code and its reason phrase: `404 Not Found`.
    public var description: String { "\(code) \(reason)" }

    /// 100 Continue.
    public static var `continue`: HTTPStatus { HTTPStatus(code: 100) }
    /// 102 Processing (RFC 2518 section 10.1).
    public static var processing: HTTPStatus { HTTPStatus(code: 102) }
    /// 200 OK.
    public static var ok: HTTPStatus { HTTPStatus(code: 200) }
    /// 201 Created.
    public static var created: HTTPStatus { HTTPStatus(code: 201) }
    /// 202 Accepted.
    public static var accepted: HTTPStatus { HTTPStatus(code: 202) }
    /// 204 No Content.
    public static var noContent: HTTPStatus { HTTPStatus(code: 204) }
    /// 304 Not Modified.
    public static var notModified: HTTPStatus { HTTPStatus(code: 304) }
    /// 400 Bad Request.
    public static var badRequest: HTTPStatus { HTTPStatus(code: 400) }
    /// 401 Unauthorized.
    public static var unauthorized: HTTPStatus { HTTPStatus(code: 401) }
    /// 403 Forbidden.
    public static var forbidden: HTTPStatus { HTTPStatus(code: 403) }
    /// 404 Not Found.
    public static var notFound: HTTPStatus { HTTPStatus(code: 404) }
    /// 405 Method Not Allowed.
    public static var methodNotAllowed: HTTPStatus { HTTPStatus(code: 405) }
    /// 406 Not Acceptable.
    public static var notAcceptable: HTTPStatus { HTTPStatus(code: 406) }
    /// 408 Request Timeout.
    public static var requestTimeout: HTTPStatus { HTTPStatus(code: 408) }
    /// 409 Conflict.
    public static var conflict: HTTPStatus { HTTPStatus(code: 409) }
    /// 411 Length Required.
    public static var lengthRequired: HTTPStatus { HTTPStatus(code: 411) }
    /// 413 Content Too Large.
    public static var contentTooLarge: HTTPStatus { HTTPStatus(code: 413) }
    /// 414 URI Too Long.
    public static var uriTooLong: HTTPStatus { HTTPStatus(code: 414) }
    /// 415 Unsupported Media Type.
    public static var unsupportedMediaType: HTTPStatus { HTTPStatus(code: 415) }
    /// 417 Expectation Failed.
    public static var expectationFailed: HTTPStatus { HTTPStatus(code: 417) }
    /// 421 Misdirected Request.
    public static var misdirectedRequest: HTTPStatus { HTTPStatus(code: 421) }
    /// 422 Unprocessable Content.
    public static var unprocessableContent: HTTPStatus { HTTPStatus(code: 422) }
    /// 429 Too Many Requests.
    public static var tooManyRequests: HTTPStatus { HTTPStatus(code: 429) }
    /// 431 Request Header Fields Too Large (RFC 6585 section 5).
    public static var headerFieldsTooLarge: HTTPStatus { HTTPStatus(code: 431) }
    /// 499: the client disconnected before it was answered. Never sent; for logs and metrics.
    public static var clientClosedRequest: HTTPStatus { HTTPStatus(code: 499) }
    /// 500 Internal Server Error.
    public static var internalServerError: HTTPStatus { HTTPStatus(code: 500) }
    /// 501 Not Implemented.
    public static var notImplemented: HTTPStatus { HTTPStatus(code: 501) }
    /// 503 Service Unavailable.
    public static var serviceUnavailable: HTTPStatus { HTTPStatus(code: 503) }
    /// 504 Gateway Timeout.
    public static var gatewayTimeout: HTTPStatus { HTTPStatus(code: 504) }
    /// 505 HTTP Version Not Supported.
    public static var versionNotSupported: HTTPStatus { HTTPStatus(code: 505) }
    /// 507 Insufficient Storage (RFC 4918 section 11.5).
    public static var insufficientStorage: HTTPStatus { HTTPStatus(code: 507) }
}

extension HTTPStatus {
    /// The reason phrase, or a generic one for unknown codes. Clients ignore it (RFC 9112 section 4).
    public var reason: String {
        switch code {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 102: "Processing"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 499: "Client Closed Request"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        default: "Status"
        }
    }
}

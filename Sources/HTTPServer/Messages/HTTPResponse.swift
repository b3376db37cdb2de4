public import HTTPWire
import JSON

/// A complete answer.
///
/// The server adds `Server`, `Date`, `X-Request-ID`, `Content-Length` and `Connection`, and drops these fields, and
/// `Transfer-Encoding`, from `fields`. An answer to `HEAD` has the body's length but no body.
public struct HTTPResponse: Sendable {
    /// The status. It must be final: 100 to 199 becomes 500.
    public var status: HTTPStatus
    /// The fields in addition to the server's own, in order. Fields with CR, LF or NUL in the value are dropped.
    public var fields: [(name: String, value: String)]
    /// The content.
    public var body: [UInt8]
    /// True if the connection is closed after this answer.
    public var closeConnection: Bool
    /// A label from a fixed set, such as the route, for `ExchangeRecord.tag`. Never sent.
    public var tag: String
    /// The application's own record of the exchange, for `ExchangeRecord.note`. Never sent.
    public var note: (any Sendable)?

    /// An answer with the given parts.
    public init(
        status: HTTPStatus, fields: [(name: String, value: String)] = [], body: [UInt8] = [],
        closeConnection: Bool = false, tag: String = ""
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.closeConnection = closeConnection
        self.tag = tag
    }
}

extension HTTPResponse {
    /// The JSON form of an error of the HTTP layer: `{"error": …, "code": …, "request_id": …}`.
    public static func error(_ error: WireError, requestID: String) -> HTTPResponse {
        var body: [UInt8] = []
        body.reserveCapacity(error.message.utf8.count + 96)
        body.append(contentsOf: "{\"error\":".utf8)
        JSONText.appendString(error.message, to: &body)
        body.append(contentsOf: ",\"code\":".utf8)
        JSONText.appendString(error.code.rawValue, to: &body)
        body.append(contentsOf: ",\"request_id\":".utf8)
        JSONText.appendString(requestID, to: &body)
        body.append(contentsOf: "}\n".utf8)
        var fields = [(name: "Content-Type", value: "application/json")]
        if let seconds = error.code.retryAfter { fields.append((name: "Retry-After", value: String(seconds))) }
        return HTTPResponse(status: error.status, fields: fields, body: body, tag: "http")
    }
}

public import HTTPWire

/// A complete answer.
///
/// The server itself adds `Server`, `Date`, `X-Request-ID`, `Content-Length` and `Connection`; given here, they are
/// dropped, as is a `Transfer-Encoding`. To `HEAD` the body is not sent, but its length is.
public struct HTTPResponse: Sendable {
    /// The status. Must be a final one: 100 to 199 becomes 500.
    public var status: HTTPStatus
    /// The fields besides the server's own, in order. Values with CR, LF or NUL are dropped.
    public var fields: [(name: String, value: String)]
    /// The content.
    public var body: [UInt8]
    /// Closes the connection once this is sent.
    public var closeConnection: Bool
    /// Returned in `ExchangeRecord.tag`: a label from a bounded set, such as the route. Never sent.
    public var tag: String
    /// Returned in `ExchangeRecord.note`: the application's own record of the exchange. Never sent.
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

/// The head of a response, before it is written.
public struct ResponseHead: Sendable {
    /// The status.
    public var status: HTTPStatus
    /// The fields, in the order in which they are written.
    public var fields: [(name: String, value: String)]

    /// A head of that status and those fields.
    public init(status: HTTPStatus, fields: [(name: String, value: String)] = []) {
        self.status = status
        self.fields = fields
    }
}

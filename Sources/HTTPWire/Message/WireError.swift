/// An error in a client's bytes, for the answer, the log and the metrics.
///
/// After any error, the framing of later bytes is unknown: answer, close, and parse no more requests.
public struct WireError: Error, Sendable, Hashable {
    // One word in size: a parser stores the error at which it stopped, and typed throws return it in a register.
    private let content: Content

    private final class Content: Sendable {
        let code: ErrorCode
        let message: String
        let label: String

        init(code: ErrorCode, message: String, label: String) {
            self.code = code
            self.message = message
            self.label = label
        }
    }

    /// The status of the answer.
    public var status: HTTPStatus { content.code.status }
    /// The code of the JSON error body.
    public var code: ErrorCode { content.code }
    /// A message for users: the expected and the actual input.
    public var message: String { content.message }
    /// The label for metrics, from a fixed set; never derived from client input.
    public var label: String { content.label }

    /// An error of a higher layer: a timeout, a body over the limit, ...
    ///
    /// `label` must be from a fixed set, because it becomes the value of a metric's label.
    public init(_ code: ErrorCode, message: String, label: StaticString) {
        content = Content(code: code, message: message, label: label.description)
    }

    /// An error of this module: the sentence of the reason and, after a colon, the detail.
    @inline(never)
    init(_ reason: Reason, _ detail: String = "") {
        content = Content(
            code: reason.code,
            message: detail.isEmpty ? reason.sentence : "\(reason.sentence): \(detail)", label: reason.rawValue)
    }

    /// True if code, message and label are equal.
    public static func == (one: WireError, other: WireError) -> Bool {
        one.code == other.code && one.message == other.message && one.label == other.label
    }

    /// Hashes the fields that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(label)
    }
}

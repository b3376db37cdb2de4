/// What is wrong with the bytes of a client, as the answer, the log and the metrics say it.
///
/// After any error the framing of what follows is in doubt: answer, close, and take no later byte for a request.
public struct WireError: Error, Sendable, Hashable {
    // One word: a parser keeps the error at which it stopped, and typed throws return it in a register.
    private let content: Content

    private final class Content: Sendable {
        let status: HTTPStatus
        let code: String
        let message: String
        let label: String

        init(status: HTTPStatus, code: String, message: String, label: String) {
            self.status = status
            self.code = code
            self.message = message
            self.label = label
        }
    }

    /// The status of the answer.
    public var status: HTTPStatus { content.status }
    /// The code of the JSON error body, from the table in the HTTP contract: `bad_request`, `uri_too_long`, ...
    public var code: String { content.code }
    /// A sentence that a person can act on: what was expected and what came.
    public var message: String { content.message }
    /// One of a bounded set of words, for metrics; never made of what the client sent.
    public var label: String { content.label }

    /// An error of the layer above: a timeout, a body over the limit, ...
    ///
    /// `label` must come from a fixed set: it becomes the value of a metric's label.
    public init(status: HTTPStatus, code: String, message: String, label: StaticString) {
        content = Content(status: status, code: code, message: message, label: label.description)
    }

    /// An error of this module: the reason's own sentence, and after a colon what is particular to this input.
    @inline(never)
    init(_ reason: Reason, _ detail: String = "") {
        content = Content(
            status: reason.status, code: reason.code,
            message: detail.isEmpty ? reason.sentence : "\(reason.sentence): \(detail)", label: reason.rawValue)
    }

    /// Whether status, code, message and label are the same.
    public static func == (one: WireError, other: WireError) -> Bool {
        one.status == other.status && one.code == other.code && one.message == other.message
            && one.label == other.label
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(status)
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(label)
    }
}

/// What an engine reports when it fails.
public struct EngineError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds that callers tell apart.
    public enum Kind: String, Sendable {
        /// The model file cannot be read, is not of the format, or holds what the engine does not know.
        case invalidModel
        /// An inference was cancelled before it ended.
        case cancelled
        /// Everything else.
        case failure
    }

    /// What kind of failure it is.
    public let kind: Kind
    /// What the engine was asked to do.
    public let operation: String
    /// The engine's own words, shortened to one line.
    public let detail: String

    /// A failure.
    public init(kind: Kind, operation: String, detail: String) {
        self.kind = kind
        self.operation = operation
        self.detail = detail
    }

    /// A sentence a person can act on.
    public var message: String { "the engine could not \(operation): \(detail)" }

    /// The message.
    public var description: String { message }
}

/// What an engine reports when it fails.
public struct EngineError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds that callers tell apart.
    public enum Kind: String, Sendable {
        /// The model file cannot be read, is not of the format, or holds what the engine does not know.
        case invalidModel
        /// An inference was cancelled before it ended.
        case cancelled
        /// The values of an input cannot be computed with: the client's mistake. The operation is the input's name.
        case invalidInput
        /// No more threads or processes can be started: other models have them.
        case noThreads
        /// Everything else.
        case failure
    }

    /// What kind of failure it is.
    public let kind: Kind
    /// What the engine was asked to do.
    public let operation: String
    /// The engine's own words, shortened to one line.
    public let detail: String
    /// Everything that is wrong with a model file, where that was found out one by one; else empty.
    public let problems: [BundleProblem]

    /// A failure.
    public init(kind: Kind, operation: String, detail: String, problems: [BundleProblem] = []) {
        self.kind = kind
        self.operation = operation
        self.detail = detail
        self.problems = problems
    }

    /// A sentence a person can act on.
    public var message: String { "the engine could not \(operation): \(detail)" }

    /// The message.
    public var description: String { message }
}

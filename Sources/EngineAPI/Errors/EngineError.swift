/// An error of an engine.
public struct EngineError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds that callers distinguish.
    public enum Kind: String, Sendable {
        /// The model file cannot be read, does not have the format, or contains elements that the engine does not
        /// support.
        case invalidModel
        /// An inference was cancelled before it ended.
        case cancelled
        /// The values of an input are invalid, by the client's mistake. The operation is the input's name.
        case invalidInput
        /// The inference ended, but another one of the same model failed before or during it, and its answer may
        /// contain values of earlier runs: run it again, on another infer request.
        case doubtful
        /// No more threads or processes can be started: other models use them.
        case noThreads
        /// All other errors.
        case failure
    }

    /// The kind of failure.
    public let kind: Kind
    /// The operation that failed, as in "could not ...".
    public let operation: String
    /// The engine's message, shortened to one line.
    public let detail: String
    /// The separate problems of a model file, if they are known; otherwise empty.
    public let problems: [BundleProblem]

    /// An error with the given values.
    public init(kind: Kind, operation: String, detail: String, problems: [BundleProblem] = []) {
        self.kind = kind
        self.operation = operation
        self.detail = detail
        self.problems = problems
    }

    /// A message for the user.
    public var message: String { "the engine could not \(operation): \(detail)" }

    /// The message.
    public var description: String { message }
}

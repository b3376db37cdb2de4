/// The failure of an engine.
public struct EngineError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds that callers distinguish.
    public enum Kind: String, Sendable {
        /// The model file cannot be read, is not of the format, or holds what the engine does not know.
        case invalidModel
        /// An inference was cancelled before it ended.
        case cancelled
        /// The values of an input are invalid: the client's mistake. The operation is the input's name.
        case invalidInput
        /// The inference ended, but another one of the same model has failed before it or at the same time, and its
        /// answer may be made of leftover values: run it again, on another infer request.
        case doubtful
        /// No more threads or processes can be started: other models have them.
        case noThreads
        /// Everything else.
        case failure
    }

    /// The kind of failure.
    public let kind: Kind
    /// The failed operation.
    public let operation: String
    /// The engine's message, shortened to one line.
    public let detail: String
    /// The separate problems of a model file, if they are known; otherwise empty.
    public let problems: [BundleProblem]

    /// A failure.
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

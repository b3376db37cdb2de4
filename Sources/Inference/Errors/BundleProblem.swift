/// One thing that is wrong with a bundle, and where.
public struct BundleProblem: Sendable, Hashable, CustomStringConvertible {
    /// Where: a JSON path (`inputs[0].shape`), a file of the bundle, or "" for the bundle as a whole.
    public let path: String
    /// What is wrong: what was expected and what came.
    public let reason: String

    /// A problem.
    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    /// `path: reason`.
    public var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}

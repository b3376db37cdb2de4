/// A problem of a bundle, with its location.
public struct BundleProblem: Sendable, Hashable, CustomStringConvertible {
    /// The location: a JSON path (`inputs[0].shape`), a file of the bundle, or "" for the whole bundle.
    public let path: String
    /// The problem: what was expected and what was found.
    public let reason: String
    /// True if the bundle is whole, and the model answers its goldens otherwise than they say.
    package var isOfGoldens = false

    /// A problem.
    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    /// `path: reason`.
    public var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}

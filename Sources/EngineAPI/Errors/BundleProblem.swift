/// A problem of a bundle, with its location.
public struct BundleProblem: Sendable, Hashable, CustomStringConvertible {
    /// The location: a JSON path (`inputs[0].shape`), a file of the bundle, or "" for the whole bundle.
    public let path: String
    /// The problem, with the expected and the found value.
    public let reason: String
    /// True if the bundle is complete, but the model's answers differ from its goldens.
    package var isOfGoldens = false

    /// A problem at a location.
    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    /// `path: reason`.
    public var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}

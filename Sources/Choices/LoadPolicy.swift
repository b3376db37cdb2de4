/// The time when a model is loaded.
public enum LoadPolicy: String, Sendable, CaseIterable {
    /// At start; the daemon is ready when all of these models are.
    case eager
    /// By the first request.
    case lazy
}

/// What a version of a model is doing.
public enum ModelState: Sendable, Hashable {
    /// It is being loaded.
    case loading
    /// It answers.
    case ready
    /// It is known and not loaded: it was unloaded, or is loaded when first asked for.
    case unloaded
    /// It could not be loaded.
    case failed(reason: String)

    /// The word of the HTTP interface: `loading`, `ready`, `unloaded`, `failed`.
    public var name: String {
        switch self {
        case .loading: "loading"
        case .ready: "ready"
        case .unloaded: "unloaded"
        case .failed: "failed"
        }
    }
}

/// A version of a model, as the repository sees it now.
public struct ModelRecord: Sendable {
    /// The name that it is served under.
    public let name: String
    /// The version.
    public let version: String
    /// What it is doing.
    public let state: ModelState
    /// Whether it is loaded at start or when first asked for.
    public let policy: LoadPolicy
    /// The model, where it is ready.
    public let model: Model?
    /// Why it is not what its files or settings now say, where it is ready and could not be reloaded: the last load failed,
    /// or the files cannot be read. Nil where all is well.
    public let staleReason: String?
}

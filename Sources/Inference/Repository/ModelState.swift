/// The state of a version of a model.
public enum ModelState: Sendable, Hashable {
    /// It is being loaded, or waits for its turn.
    case loading
    /// It is ready.
    case ready
    /// It is not loaded: it was unloaded, or is loaded by its first request.
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
    /// Its state.
    public let state: ModelState
    /// The time of loading: at start, or by its first request.
    public let policy: LoadPolicy
    /// The model, where it is ready.
    public let model: Model?
    /// The reason why a ready version does not match its files or settings: the last reload failed, or the files cannot
    /// be read. Nil if it matches.
    public let staleReason: String?
    /// The time for which its load has been under way; nil if none is, or it waits for its turn. A ready version may be
    /// loaded again.
    public let loadingTime: Duration?
}

public import Choices
public import Inference

/// The state of a version of a model.
public enum ModelState: Sendable, Hashable {
    /// It is being loaded, or is queued.
    case loading
    /// It is ready.
    case ready
    /// It is not loaded: it was unloaded, or its first request will load it.
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

/// The present state of one version of a model.
public struct ModelRecord: Sendable {
    /// The name that it is served under.
    public let name: String
    /// The version.
    public let version: String
    /// Its state.
    public let state: ModelState
    /// The time at which it is loaded: at start, or by its first request.
    public let policy: LoadPolicy
    /// The model; nil unless it is ready.
    public let model: Model?
    /// The reason a ready version does not match its files or settings: the last reload failed, or the files cannot be
    /// read. Nil if it matches.
    public let staleReason: String?
    /// The time for which its load has been under way; nil if it is not being loaded, or is queued. A ready version may
    /// be loading again.
    public let loadingTime: Duration?
    /// The labels of a version that has no model yet; nil for others.
    package let placeholder: [String]?
}

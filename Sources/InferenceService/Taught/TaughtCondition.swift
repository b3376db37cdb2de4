/// The condition of a taught model: its examples against its embedder.
enum TaughtCondition: Sendable, Equatable {
    /// It has no examples.
    case empty
    case ready
    /// The embedder is another one now: the reason, and what to do.
    case stale(String)
    /// It is not known yet whether the embedder is the one that the examples were taught with.
    case unknown

    /// The word of the HTTP interface; nil where none is true yet.
    var name: String? {
        switch self {
        case .empty: "empty"
        case .ready: "ready"
        case .stale: "stale"
        case .unknown: nil
        }
    }
}

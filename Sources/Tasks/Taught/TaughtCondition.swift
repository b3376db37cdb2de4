/// The condition of a taught model: whether its examples fit its embedder.
enum TaughtCondition: Sendable, Equatable {
    /// It has no examples.
    case empty
    case ready
    /// The embedder has changed: the reason, with the remedy.
    case stale(String)
    /// It is not known yet whether the embedder is the one of the examples.
    case unknown

    /// The word of the HTTP interface; nil while unknown.
    var name: String? {
        switch self {
        case .empty: "empty"
        case .ready: "ready"
        case .stale: "stale"
        case .unknown: nil
        }
    }
}

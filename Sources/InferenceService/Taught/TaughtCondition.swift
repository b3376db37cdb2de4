/// The condition of a taught model: its examples against its embedder.
enum TaughtCondition: Sendable, Equatable {
    /// It has no examples.
    case empty
    case ready
    /// The embedder is another one now: the reason, and what to do.
    case stale(String)

    /// The word of the HTTP interface.
    var name: String {
        switch self {
        case .empty: "empty"
        case .ready: "ready"
        case .stale: "stale"
        }
    }
}

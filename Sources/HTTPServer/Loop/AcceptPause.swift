/// Why, and until when, no connections are accepted.
struct AcceptPause {
    /// Tried again at this time at the latest; nil: when there is room.
    let until: UInt64?
    /// There are as many connections as there may be.
    let isFull: Bool
}

/// Why, and until when, no connections are accepted.
struct AcceptPause {
    /// Tried again at this time at the latest; nil: when a connection is closed.
    let until: UInt64?
}

/// The current state of the taught models, for metrics.
struct TaughtUsage: Sendable {
    var models = 0
    var examples = 0
    /// Models with an embedder that has changed, or is not served.
    var stale = 0
    /// The bytes of all files.
    var bytes = 0
}

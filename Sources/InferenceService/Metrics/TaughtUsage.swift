/// The taught models at one moment, for metrics.
struct TaughtUsage: Sendable {
    var models = 0
    var examples = 0
    /// Those whose embedder is another one now, or is not served.
    var stale = 0
    /// Of all files.
    var bytes = 0
}

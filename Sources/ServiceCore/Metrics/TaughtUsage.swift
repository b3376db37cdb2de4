/// The current state of the taught models, for metrics.
package struct TaughtUsage: Sendable {
    package var models = 0
    package var examples = 0
    /// Models with an embedder that has changed, or is not served.
    package var stale = 0
    /// The bytes of all files.
    package var bytes = 0

    package init() {}
}

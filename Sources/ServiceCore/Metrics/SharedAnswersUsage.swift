/// The counters of shared answers, for metrics.
package struct SharedAnswersUsage: Sendable {
    /// Finished answers in the cache, and their bytes.
    package var answers = 0
    package var bytes = 0
    /// Predictions answered by a cached answer, together with an equal request, and by a computation.
    package var hits: UInt64 = 0
    package var collapsed: UInt64 = 0
    package var misses: UInt64 = 0

    package init() {}

    package init(answers: Int, bytes: Int, hits: UInt64, collapsed: UInt64, misses: UInt64) {
        self.answers = answers
        self.bytes = bytes
        self.hits = hits
        self.collapsed = collapsed
        self.misses = misses
    }
}

/// The numbers of shared answers, for metrics.
package struct SharedAnswersUsage: Sendable {
    /// Finished answers that are kept, and their bytes.
    package var answers = 0
    package var bytes = 0
    /// Predictions that were answered by a finished answer, with another request, and by themselves.
    package var hits: UInt64 = 0
    package var collapsed: UInt64 = 0
    package var misses: UInt64 = 0

    package init() {}

    init(answers: Int, bytes: Int, hits: UInt64, collapsed: UInt64, misses: UInt64) {
        self.answers = answers
        self.bytes = bytes
        self.hits = hits
        self.collapsed = collapsed
        self.misses = misses
    }
}

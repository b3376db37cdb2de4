/// Selects the highest of many scores in one pass.
package enum TopK {
    /// Returns the indexes and scores of the `count` highest scores that are at least `threshold`, highest first; equal
    /// scores are in the order of their indexes. Nil if a score is NaN: the highest is not known then.
    ///
    /// For small counts, one pass with a small sorted array is faster than sorting all, and allocates only the result.
    /// For large counts its time would be quadratic if the scores ascend, so all scores are sorted.
    package static func select(_ scores: UnsafeBufferPointer<Float>, count: Int, threshold: Float) -> [(
        index: Int, score: Float
    )]? {
        guard count > 0 else { return [] }
        guard count <= few else { return sorted(scores, count: count, threshold: threshold) }
        var best: [(index: Int, score: Float)] = []
        best.reserveCapacity(min(count, scores.count) + 1)
        for (index, score) in scores.enumerated() {
            guard score >= threshold else {
                if score.isNaN { return nil }
                continue
            }
            if best.count == count {
                guard let last = best.last, score > last.score else { continue }
            }
            var position = best.count
            while position > 0, best[position - 1].score < score { position -= 1 }
            best.insert((index, score), at: position)
            if best.count > count { best.removeLast() }
        }
        return best
    }

    /// The maximum count that is selected in one pass.
    static let few = 64

    private static func sorted(
        _ scores: UnsafeBufferPointer<Float>, count: Int, threshold: Float
    ) -> [(index: Int, score: Float)]? {
        var all: [(index: Int, score: Float)] = []
        for (index, score) in scores.enumerated() {
            if score.isNaN { return nil }
            if score >= threshold { all.append((index, score)) }
        }
        all.sort { ($1.score, $0.index) < ($0.score, $1.index) }
        return Array(all.prefix(count))
    }
}

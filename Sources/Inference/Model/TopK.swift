/// Picks the best of many scores in one pass.
package enum TopK {
    /// The indexes and scores of the `count` highest scores that are at least `threshold`, highest first; equal scores in
    /// the order of their indexes. NaN is no score.
    ///
    /// One pass with a small sorted array: for the few that a client asks for it beats sorting all, and nothing is
    /// allocated but the result.
    package static func select(_ scores: UnsafeBufferPointer<Float>, count: Int, threshold: Float) -> [(
        index: Int, score: Float
    )] {
        guard count > 0 else { return [] }
        var best: [(index: Int, score: Float)] = []
        best.reserveCapacity(min(count, scores.count) + 1)
        for (index, score) in scores.enumerated() where score >= threshold {
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
}

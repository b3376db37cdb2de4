internal import Glibc

extension Certainty {
    /// Measures the confidences of all classes; nil for an empty list, or if one is not a number.
    init?(_ confidences: UnsafeBufferPointer<Float>) {
        guard let best = TopK.select(confidences, count: 2, threshold: -.infinity), let first = best.first else {
            return nil
        }
        self.init(
            index: first.index, confidence: first.score,
            margin: best.count > 1 ? first.score - best[1].score : first.score,
            entropy: Self.entropy(confidences), count: confidences.count)
    }

    /// The entropy of the confidences by that of equal ones. Those of a sigmoid do not add up to 1: their shares do.
    private static func entropy(_ confidences: UnsafeBufferPointer<Float>) -> Float {
        guard confidences.count > 1 else { return 0 }
        let sum = confidences.reduce(Double(0)) { $0 + max(0, Double($1)) }
        guard sum > 0 else { return 1 }
        let entropy = confidences.reduce(Double(0)) { entropy, confidence in
            let share = max(0, Double(confidence)) / sum
            return share > 0 ? entropy - share * log(share) : entropy
        }
        return Float(min(1, max(0, entropy / log(Double(confidences.count)))))
    }
}

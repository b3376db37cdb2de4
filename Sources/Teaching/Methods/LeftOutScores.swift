/// The score of each normal example without itself, and what follows from them for a picture: how probable its score
/// is for a normal picture, and from which score on a picture is an anomaly.
///
/// If normal pictures come in any order with the same probability, about the share `falseAlarms` of further ones is
/// called an anomaly, whatever the embedder is (conformal prediction, with the jackknife's scores).
package struct LeftOutScores: Sendable, Equatable {
    /// The scores in the order of the examples' digests; empty for fewer than two examples.
    package let scores: [Double]
    /// The share of normal pictures that may be called anomalies.
    package let falseAlarms: Double
    private let ascending: [Double]

    /// - Parameter scores: one for each example; that of a single example does not count.
    package init(_ scores: [Double], falseAlarms: Double) {
        // A single example has no others.
        self.scores = scores.count > 1 ? scores : []
        self.falseAlarms = falseAlarms
        ascending = self.scores.sorted()
    }

    package var count: Int { scores.count }

    /// The place of the threshold among the scores, counted from the greatest: ⌊falseAlarms (count + 1)⌋, so that the
    /// score is above the threshold if and only if ``p(of:)`` is at most `falseAlarms`.
    private var rank: Int {
        let all = Double(count + 1)
        var rank = Int(falseAlarms * all)
        // The product may be rounded to the other side of an integer than the quotient that `p` is.
        while rank <= count, Double(rank + 1) / all <= falseAlarms { rank += 1 }
        while rank > 0, Double(rank) / all > falseAlarms { rank -= 1 }
        return rank
    }

    /// The greatest score of a picture that is no anomaly; nil with too few examples.
    package var threshold: Double? {
        let rank = rank
        return rank > 0 && rank <= count ? ascending[count - rank] : nil
    }

    /// The number of examples from which on there is a threshold: 1 / falseAlarms − 1, and at least two.
    package var needed: Int {
        var needed = max(2, Int(1 / falseAlarms) - 2)
        while 1 / Double(needed + 1) > falseAlarms { needed += 1 }
        return needed
    }

    /// The share of examples that are as unusual as a picture with this score, which counts as one of them.
    package func p(of score: Double) -> Double {
        let less = ascending.place { $0 < score }
        return Double(1 + count - less) / Double(1 + count)
    }
}

/// The answer of a `normal` model.
package struct AnomalyAnswer: Sendable, Equatable {
    /// The cosine distance, 0 to 2, to the nearest normal example.
    package let score: Double
    /// The score above which a picture is an anomaly; nil until there are enough examples.
    package let threshold: Double?
    /// The share of normal pictures that are as unusual; nil until the examples were evaluated.
    package let p: Double?
    /// True if the score is above the threshold; nil without one.
    package let isAnomaly: Bool?
}

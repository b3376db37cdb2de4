/// The nonconformity of a class: greater for a class that fits a picture less.
enum Nonconformity {
    /// 1 - the confidence, from 0 to 1. Confidences are sums of rounded numbers, and may slightly exceed 1.
    static func score(_ confidence: Float) -> Double { min(1, max(0, 1 - Double(confidence))) }
}

/// The calibration of a classifier by pictures with known labels: the temperature of its confidences, and the scores
/// that make sets of labels with a guaranteed coverage.
///
/// Split conformal prediction (V. Vovk et al., "Algorithmic learning in a random world", 2005): the set of a picture
/// has the labels with a score of at most the ⌈(n + 1) coverage⌉-th smallest of the n scores. If the picture and those
/// of the calibration are exchangeable, the set holds the right label with at least that probability. The scores do not
/// depend on the temperature, so that all pictures serve both.
package struct ClassifierCalibration: Sendable, Hashable {
    /// The digest of the model's file or files, "sha256:" and 64 hexadecimal digits.
    package let model: String
    /// The number that logarithms of confidences are divided by.
    package let temperature: Double
    /// The scores of the right labels, ascending; not empty.
    package let scores: [Double]

    /// The maximum number of pictures.
    package static let maximumPictures = 500_000

    /// A calibration; nil without scores, or with too many.
    /// - Parameter scores: finite numbers, ascending.
    init?(model: String, temperature: Double, scores: [Double]) {
        guard (1...Self.maximumPictures).contains(scores.count) else { return nil }
        (self.model, self.temperature, self.scores) = (model, temperature, scores)
    }

    /// Calibrates a model by its answers; nil without any, or with too many.
    package init?(model: String, by answers: LabelledAnswers) {
        self.init(model: model, temperature: answers.bestTemperature, scores: answers.scores)
    }

    /// The number of pictures.
    package var pictures: Int { scores.count }

    /// The highest score of a label in a set; nil if all labels are in it.
    package func threshold(_ coverage: Coverage) -> Double? {
        let rank = coverage.rank(among: scores.count)
        return scores.indices.contains(rank - 1) ? scores[rank - 1] : nil
    }

    /// The indices of the classes in the set of a picture, most confident first; equal ones in their order. May be
    /// empty.
    /// - Parameter confidences: those of all classes, uncalibrated; none is NaN.
    package func set(_ coverage: Coverage, of confidences: some Collection<Float>) -> [Int] {
        let threshold = threshold(coverage)
        let members = confidences.enumerated().filter { entry in
            threshold.map { Nonconformity.score(entry.element) <= $0 } ?? true
        }
        return members.sorted { ($1.element, $0.offset) < ($0.element, $1.offset) }.map(\.offset)
    }
}

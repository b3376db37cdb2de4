/// The values of a model's outputs in a few runs on noise, which distinguish probabilities from logits if the file does
/// not.
package struct OutputProbe: Sendable, Hashable, Codable {
    /// One output with a number for each class, as the file outputs it, without dequantization.
    package struct Values: Sendable, Hashable, Codable {
        /// The number of its values.
        package var count = 0
        /// The minimum and maximum over all runs.
        package var minimum = 0.0, greatest = 0.0
        /// The minimum and maximum sum of the values in a run.
        package var minimumSum = 0.0, greatestSum = 0.0
        /// True if all its values were finite; otherwise the other members are 0.
        package var areNumbers = true

        package init() {}
    }

    /// By the index of the output in the file; nil for an output that is not a list of numbers.
    package var outputs: [Values?] = []

    package init() {}
}

/// The kind of an output's values, as far as the values show it.
package enum ScoreKind: Sendable, Hashable {
    /// Probabilities, of all classes together or of each independently: no activation is needed.
    case probabilities
    /// Arbitrary numbers.
    case logits
    /// Each value may be an independent probability, or a small logit.
    case unclear
}

extension OutputProbe.Values {
    /// The maximum deviation of a sum of probabilities from 1, due to rounding and 8-bit steps.
    private static let sumSlack = 0.02
    private static let slack = 0.001

    /// The kind of the values, which must be dequantized.
    var kind: ScoreKind {
        guard areNumbers else { return .unclear }
        if minimum < -Self.slack || greatest > 1 + Self.slack { return .logits }
        return abs(minimumSum - 1) <= Self.sumSlack && abs(greatestSum - 1) <= Self.sumSlack ? .probabilities : .unclear
    }

    /// A description in words: `values from -7.1 to 3: logits`.
    var words: String {
        guard areNumbers else { return "values that are not numbers (NaN)" }
        func rounded(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
        let range = "values from \(rounded(minimum)) to \(rounded(greatest))"
        switch kind {
        case .logits: return range + ": logits"
        case .probabilities: return range + " that sum to 1: probabilities"
        case .unclear:
            let sums =
                rounded(minimumSum) == rounded(greatestSum)
                ? rounded(minimumSum) : "\(rounded(minimumSum)) to \(rounded(greatestSum))"
            return range + " that sum to \(sums)"
        }
    }

    /// The real numbers that quantized values represent.
    func dequantized(scale: Double, zeroPoint: Double) -> Self {
        var values = self
        values.minimum = (minimum - zeroPoint) * scale
        values.greatest = (greatest - zeroPoint) * scale
        values.minimumSum = (minimumSum - zeroPoint * Double(count)) * scale
        values.greatestSum = (greatestSum - zeroPoint * Double(count)) * scale
        return values
    }
}

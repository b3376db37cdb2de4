internal import Glibc

/// The functions that turn a model's sums into probabilities.
enum Transforms {
    /// 1 / (1 + e^-x), without overflow.
    static func logistic(_ x: Double) -> Double {
        guard x < 0 else { return 1 / (1 + exp(-x)) }
        let power = exp(x)
        return power / (1 + power)
    }

    /// The cumulative distribution function of the standard normal distribution.
    static func probit(_ x: Double) -> Double { 0.5 * erfc(-x / 2.0.squareRoot()) }

    /// e^x of each, divided by their sum.
    static func softmax(_ values: [Double]) -> [Double] {
        let greatest = values.max() ?? 0
        let powers = values.map { exp($0 - greatest) }
        return shares(powers)
    }

    /// Each value divided by the sum of all; equal shares if all are zero.
    static func shares(_ values: [Double]) -> [Double] {
        let sum = values.reduce(0, +)
        guard sum != 0 else { return values.map { _ in 1 / Double(values.count) } }
        return values.map { $0 / sum }
    }
}

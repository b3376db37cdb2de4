internal import Glibc

/// An axis: maps values to positions, with ticks at round numbers.
package struct ChartScale: Sendable, Hashable {
    package let low: Double
    package let high: Double
    /// The ticks, in order, within `low...high`.
    package let marks: [Double]
    private let isLogarithmic: Bool

    /// An axis from 0 to at least `maximum`, with about five ticks at 1, 2 or 5 times a power of ten.
    package static func linear(to maximum: Double) -> ChartScale {
        let maximum = maximum.isFinite && maximum > 0 ? maximum : 1
        let rough = maximum / 5
        let power = pow(10, floor(log10(rough)))
        let step = ([1.0, 2, 5, 10].first { $0 * power >= rough * 0.999 } ?? 10) * power
        let count = Int((maximum / step - 0.001).rounded(.up))
        return ChartScale(
            low: 0, high: Double(count) * step, marks: (0...max(1, count)).map { Double($0) * step },
            isLogarithmic: false)
    }

    /// An axis from below `minimum` to above `maximum`, with ticks at 1, 2 and 5 times powers of ten.
    package static func logarithmic(from minimum: Double, to maximum: Double) -> ChartScale {
        let minimum = minimum.isFinite && minimum > 0 ? minimum : 0.001
        let maximum = max(maximum.isFinite ? maximum : minimum, minimum * 1.001)
        var rounds: [Double] = []
        for power in Int(floor(log10(minimum))) - 1...Int(floor(log10(maximum))) + 1 {
            for digit in [1.0, 2, 5] { rounds.append(digit * pow(10, Double(power))) }
        }
        let low = rounds.last { $0 <= minimum } ?? minimum
        let high = rounds.first { $0 >= maximum } ?? maximum
        var marks = rounds.filter { $0 >= low && $0 <= high }
        // Over many decades, only powers of ten fit.
        if marks.count > 10 { marks = marks.filter { abs(log10($0) - log10($0).rounded()) < 1e-9 } }
        return ChartScale(low: low, high: high, marks: marks, isLogarithmic: true)
    }

    /// The position of a value: 0 at the low end, 1 at the high end; values beyond are clamped.
    package func place(_ value: Double) -> Double {
        guard value.isFinite, high > low else { return 0 }
        let part =
            isLogarithmic
            ? (log(max(value, low)) - log(low)) / (log(high) - log(low)) : (value - low) / (high - low)
        return min(max(part, 0), 1)
    }
}

/// The time of a candidate's inferences, divided by that of the serving version's, at equal occupancy.
///
/// An inference takes longer beside others. Times are therefore kept by the number of inferences that were running, and
/// only those of a number that both versions have seen are compared; each counts by the fewer of the two.
package struct LatencyComparison: Sendable, Hashable {
    package enum Side: Sendable { case serving, candidate }

    private struct Times: Sendable, Hashable {
        var count = 0
        /// Nanoseconds.
        var sum = 0.0, squares = 0.0
        var mean: Double { sum / Double(max(1, count)) }
        /// The variance of the mean, over its square.
        var relativeVariance: Double {
            guard count > 1, mean > 0 else { return 1 }
            let variance = max(0, squares / Double(count) - mean * mean)
            return variance / Double(count - 1) / (mean * mean)
        }

        mutating func add(_ nanoseconds: UInt64) {
            count &+= 1
            sum += Double(nanoseconds)
            squares += Double(nanoseconds) * Double(nanoseconds)
        }
    }

    /// More inferences at once than this are one case.
    private static let mostOccupancy = 64
    /// Inferences of each side at equal occupancy before a ratio is reported.
    package static let least = 20

    private var serving = [Times](repeating: Times(), count: mostOccupancy)
    private var candidate = [Times](repeating: Times(), count: mostOccupancy)

    package init() {}

    /// - Parameters:
    ///   - nanoseconds: of one inference.
    ///   - occupancy: inferences that ran when it began, with itself: 1 or more.
    package mutating func add(_ nanoseconds: UInt64, occupancy: Int, of side: Side) {
        let place = min(max(occupancy, 1), Self.mostOccupancy) - 1
        switch side {
        case .serving: serving[place].add(nanoseconds)
        case .candidate: candidate[place].add(nanoseconds)
        }
    }

    /// The ratio less four standard errors: what is above a limit by this is not so by chance, however often it is
    /// looked at. Nil as ``ratio``.
    package var leastRatio: Double? {
        guard let ratio else { return nil }
        var weights = 0, variance = 0.0
        for (one, other) in zip(serving, candidate) where one.count > 0 && other.count > 0 && one.mean > 0 {
            let weight = min(one.count, other.count)
            let part = other.mean / one.mean
            weights += weight
            variance += Double(weight * weight) * part * part * (one.relativeVariance + other.relativeVariance)
        }
        return ratio - 4 * variance.squareRoot() / Double(weights)
    }

    /// The candidate's time over that of the version that serves; nil until there are enough of both.
    package var ratio: Double? {
        var weights = 0, sum = 0.0
        for (one, other) in zip(serving, candidate) where one.count > 0 && other.count > 0 && one.mean > 0 {
            let weight = min(one.count, other.count)
            weights += weight
            sum += Double(weight) * other.mean / one.mean
        }
        return weights >= Self.least ? sum / Double(weights) : nil
    }
}

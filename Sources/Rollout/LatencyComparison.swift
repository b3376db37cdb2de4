/// The ratio of the candidate's inference time to that of the serving version, at equal occupancy.
///
/// Concurrent inferences slow each other down. Times are therefore kept by occupancy, the number of concurrent
/// inferences, and only occupancies that both versions had are compared, each weighted by the smaller count of the two.
package struct LatencyComparison: Sendable, Hashable {
    package enum Side: Sendable { case serving, candidate }

    private struct Times: Sendable, Hashable {
        var count = 0
        /// In nanoseconds.
        var sum = 0.0, squares = 0.0
        var mean: Double { sum / Double(max(1, count)) }
        /// The variance of the mean, divided by its square.
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

    /// Higher occupancies are counted together.
    private static let maximumOccupancy = 64
    /// The minimum number of inferences of each version, at equal occupancy, for a ratio.
    package static let minimum = 20

    private var serving = [Times](repeating: Times(), count: maximumOccupancy)
    private var candidate = [Times](repeating: Times(), count: maximumOccupancy)

    package init() {}

    /// - Parameters:
    ///   - nanoseconds: the time of one inference.
    ///   - occupancy: the number of concurrent inferences when it began, including itself: at least 1.
    package mutating func add(_ nanoseconds: UInt64, occupancy: Int, of side: Side) {
        let place = min(max(occupancy, 1), Self.maximumOccupancy) - 1
        switch side {
        case .serving: serving[place].add(nanoseconds)
        case .candidate: candidate[place].add(nanoseconds)
        }
    }

    /// The ratio minus four standard errors. If this exceeds a limit, the cause is not chance, no matter how often it
    /// is checked. Nil if ``ratio`` is nil.
    package var minimumRatio: Double? {
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

    /// The ratio of the candidate's time to that of the serving version; nil until both have enough inferences.
    package var ratio: Double? {
        var weights = 0, sum = 0.0
        for (one, other) in zip(serving, candidate) where one.count > 0 && other.count > 0 && one.mean > 0 {
            let weight = min(one.count, other.count)
            weights += weight
            sum += Double(weight) * other.mean / one.mean
        }
        return weights >= Self.minimum ? sum / Double(weights) : nil
    }
}

internal import InferenceService

/// Many measurements of one thing, in a few numbers. Values are nanoseconds here, but any unit does.
package struct SampleStatistics: Sendable, Hashable {
    /// The number of measurements.
    package let count: Int
    /// The least, the greatest and the average one.
    package let least: UInt64, most: UInt64, mean: Double
    /// The median: half were at most this; and the 90th and 99th percentile.
    package let p50: UInt64, p90: UInt64, p99: UInt64

    /// The numbers of some measurements; nil if there are none.
    package init?(_ values: some Sequence<UInt64>) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        count = sorted.count
        least = first
        most = last
        mean = sorted.reduce(0) { $0 + Double($1) } / Double(sorted.count)
        p50 = Self.percentile(50, of: sorted)
        p90 = Self.percentile(90, of: sorted)
        p99 = Self.percentile(99, of: sorted)
    }

    /// The nearest-rank percentile: the least measurement that at least `percent` of a hundred do not exceed. It is
    /// always one that was measured, never one between two.
    static func percentile(_ percent: Int, of sorted: [UInt64]) -> UInt64 {
        let rank = (sorted.count * percent + 99) / 100
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }

    /// The spread of several measurements of the same thing: the difference of greatest and least as a part of the
    /// median; 0 for fewer than two.
    package static func spread(of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard sorted.count > 1, let first = sorted.first, let last = sorted.last else { return 0 }
        let middle = sorted[sorted.count / 2]
        return middle > 0 ? (last - first) / middle : 0
    }
}

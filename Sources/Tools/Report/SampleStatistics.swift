/// Statistics of many measurements. Values are nanoseconds here, but any unit is possible.
package struct SampleStatistics: Sendable, Hashable {
    /// The number of measurements.
    package let count: Int
    /// The minimum, the maximum and the mean.
    package let minimum: UInt64, maximum: UInt64, mean: Double
    /// The median, and the 90th and 99th percentile.
    package let p50: UInt64, p90: UInt64, p99: UInt64

    /// The statistics of some measurements; fails without any.
    package init?(_ values: some Sequence<UInt64>) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        count = sorted.count
        minimum = first
        maximum = last
        mean = sorted.reduce(0) { $0 + Double($1) } / Double(sorted.count)
        p50 = Self.percentile(50, of: sorted)
        p90 = Self.percentile(90, of: sorted)
        p99 = Self.percentile(99, of: sorted)
    }

    /// The nearest-rank percentile: the smallest measurement that at least `percent` % of all do not exceed. It is
    /// always a measured value, never an interpolated one.
    static func percentile(_ percent: Int, of sorted: [UInt64]) -> UInt64 {
        let rank = (sorted.count * percent + 99) / 100
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }

    /// The spread of several measurements of the same quantity: the difference between maximum and minimum, relative to
    /// the median; 0 for fewer than two.
    package static func spread(of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard sorted.count > 1, let first = sorted.first, let last = sorted.last else { return 0 }
        let middle = sorted[sorted.count / 2]
        return middle > 0 ? (last - first) / middle : 0
    }
}

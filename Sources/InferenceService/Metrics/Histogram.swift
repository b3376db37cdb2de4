/// The distribution of durations: Prometheus's histogram, in nanoseconds inside and seconds outside.
package final class Histogram: Sendable {
    /// The upper bounds of the buckets: from 50 µs, below which nothing of a request is worth a bucket, to 30 s.
    package static let bounds: [UInt64] = [
        50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
        100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
        30_000_000_000,
    ]
    /// The bounds as label values.
    static let labels = bounds.map { MetricsText.seconds($0) } + ["+Inf"]

    /// One counter for each bucket, one for what is over all bounds, and the sum.
    private let counters = AtomicCounters(bounds.count + 2)

    package init() {}

    /// Counts one duration.
    package func record(_ nanoseconds: UInt64) {
        var low = 0
        var high = Self.bounds.count
        while low < high {
            let middle = (low + high) / 2
            if nanoseconds <= Self.bounds[middle] { high = middle } else { low = middle + 1 }
        }
        counters.add(at: low)
        counters.add(nanoseconds, at: Self.bounds.count + 1)
    }

    /// The counts of the buckets, not cumulated; the last is over all bounds.
    package var buckets: [UInt64] { (0...Self.bounds.count).map { counters[$0] } }
    /// All durations together, in nanoseconds.
    package var sum: UInt64 { counters[Self.bounds.count + 1] }
}

/// The distribution of durations, as a Prometheus histogram: nanoseconds inside, seconds outside. A view of some
/// counters: copies count together.
package struct Histogram: Sendable {
    /// The upper bounds of the buckets in nanoseconds: from 50 µs, below which no part of a request matters, to 30 s.
    package static let bounds: [UInt64] = [
        50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
        100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
        30_000_000_000,
    ]
    /// The bounds as label values.
    static let labels = bounds.map { MetricsText.seconds($0) } + ["+Inf"]

    /// The number of counters of a histogram: one for each bucket, one for durations over all bounds, and the sum.
    static let size = bounds.count + 2

    private let counters: StripedCounters
    /// The index of its first counter.
    private let first: Int

    package init() { self.init(StripedCounters(Self.size), at: 0) }

    /// A histogram in ``size`` counters, from `first` on.
    init(_ counters: StripedCounters, at first: Int) {
        self.counters = counters
        self.first = first
    }

    /// Counts one duration.
    package func record(_ nanoseconds: UInt64) {
        var low = 0
        var high = Self.bounds.count
        while low < high {
            let middle = (low + high) / 2
            if nanoseconds <= Self.bounds[middle] { high = middle } else { low = middle + 1 }
        }
        counters.add(at: first + low)
        counters.add(nanoseconds, at: first + Self.bounds.count + 1)
    }

    /// The counts of the buckets, not cumulated; the last one is over all bounds.
    package var buckets: [UInt64] { (0...Self.bounds.count).map { counters[first + $0] } }
    /// The sum of all durations in nanoseconds.
    package var sum: UInt64 { counters[first + Self.bounds.count + 1] }
}

/// A log-linear histogram of durations (like HdrHistogram). Values up to 2^43 ns (two hours) have an error of at most
/// 1/128. It takes about 38 KB for any number of values.
package struct LatencyHistogram: Sendable, Hashable {
    /// The logarithm of the number of buckets in each power of two.
    private static let bits: UInt64 = 7
    private static let largest: UInt64 = 1 << 43

    private var counts = [UInt64](repeating: 0, count: index(of: largest) + 1)
    package private(set) var count: UInt64 = 0
    /// The exact minimum and maximum; 0 if there are no values.
    package private(set) var minimum: UInt64 = 0
    package private(set) var greatest: UInt64 = 0
    private var sum = 0.0

    package init() {}

    /// Adds a duration in nanoseconds.
    package mutating func record(_ nanoseconds: UInt64) {
        counts[Self.index(of: min(nanoseconds, Self.largest))] += 1
        minimum = count == 0 ? nanoseconds : min(minimum, nanoseconds)
        greatest = max(greatest, nanoseconds)
        count += 1
        sum += Double(nanoseconds)
    }

    package mutating func merge(_ other: LatencyHistogram) {
        guard other.count > 0 else { return }
        for index in counts.indices { counts[index] += other.counts[index] }
        minimum = count == 0 ? other.minimum : min(minimum, other.minimum)
        greatest = max(greatest, other.greatest)
        count += other.count
        sum += other.sum
    }

    package var mean: Double { count == 0 ? 0 : sum / Double(count) }

    /// A percentile (nearest rank): the upper end of the bucket of the value that at least `percent` % of all values do
    /// not exceed, so it is never too low. 0 if there are no values.
    package func percentile(_ percent: Double) -> UInt64 {
        guard count > 0 else { return 0 }
        // 99.9 / 100 is not a binary fraction: of 1000 values, the rank would be slightly above 999.
        let share = percent / 100 * Double(count) * (1 - 1e-12)
        let rank = UInt64(max(1, min(share.rounded(.up), Double(count))))
        var seen: UInt64 = 0
        for index in counts.indices {
            seen += counts[index]
            guard seen >= rank else { continue }
            // The last bucket is unbounded: it has all longer durations.
            if index == counts.count - 1 { return greatest }
            return max(minimum, min(Self.upperEnd(of: index), greatest))
        }
        return greatest
    }

    // Values below 2^(bits+1) have a bucket each; values of a higher power of two share 2^bits buckets.
    package static func index(of value: UInt64) -> Int {
        guard value >= 2 << bits else { return Int(value) }
        let exponent = UInt64(63 - value.leadingZeroBitCount) - bits
        return Int((exponent << bits) + (value >> exponent))
    }

    package static func upperEnd(of index: Int) -> UInt64 {
        let index = UInt64(index)
        guard index >= 2 << bits else { return index }
        let exponent = (index >> bits) - 1
        let mantissa = (index & ((1 << bits) - 1)) + (1 << bits)
        return ((mantissa + 1) << exponent) - 1
    }
}

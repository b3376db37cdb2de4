/// The time for which a slot is held, as an exponentially weighted mean of the times it was held lately.
///
/// The gain is 1/8, as for TCP's smoothed round-trip time: a change of level shows after about eight requests, and one
/// outlier moves the mean by an eighth. The first eight are a plain mean, so that a slow first prediction does not
/// colour the next dozen.
package struct ServiceTimeEstimate: Sendable {
    private var mean: Double
    private var samples = 0

    /// `expected`: the value until the first measurement, in nanoseconds.
    package init(expected: UInt64) {
        mean = Double(expected)
    }

    /// The mean in nanoseconds: finite and not negative.
    package var nanoseconds: Double { mean }

    /// True if anything was measured yet.
    package var isMeasured: Bool { samples > 0 }

    /// A slot was held for this long.
    package mutating func record(_ nanoseconds: UInt64) {
        if samples < 8 { samples &+= 1 }
        mean += (Double(nanoseconds) - mean) / Double(samples)
    }
}

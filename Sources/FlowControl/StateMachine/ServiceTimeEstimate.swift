/// The time for which a slot is held: an exponentially weighted mean of recent times.
///
/// The gain is 1/8, as for TCP's smoothed round-trip time: a new level shows after about eight requests, and one
/// outlier moves the mean by an eighth. The first eight are averaged evenly, so that a slow first prediction does not
/// dominate the next dozen.
package struct ServiceTimeEstimate: Sendable {
    private var mean: Double
    private var samples = 0

    /// `expected`: the value until the first measurement, in nanoseconds.
    package init(expected: UInt64) {
        mean = Double(expected)
    }

    /// The mean in nanoseconds: finite and not negative.
    package var nanoseconds: Double { mean }

    /// True once a time was recorded.
    package var isMeasured: Bool { samples > 0 }

    /// Records the time for which a slot was held.
    package mutating func record(_ nanoseconds: UInt64) {
        if samples < 8 { samples &+= 1 }
        mean += (Double(nanoseconds) - mean) / Double(samples)
    }
}

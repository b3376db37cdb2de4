/// Chooses how single-stream predictions run, by measured times: like all others, or on the variant with more threads.
///
/// More threads do not help if other programs use the processors, or for small models; and each takes processor time.
/// So the variant must be a tenth faster, which is measured repeatedly.
package struct SingleStreamChoice: Sendable {
    /// A mean in which the last eight or so count most, in nanoseconds.
    private struct Mean: Sendable {
        var value = 0.0
        var count = 0

        mutating func add(_ time: Double) {
            count += 1
            // What was held up once says little.
            let time = count > SingleStreamChoice.samples ? min(time, value * 4) : time
            value += (time - value) / Double(min(count, 8))
        }
    }

    private var usual = Mean(), variant = Mean()
    private var turn = 0

    /// Predictions of each way before the two are compared.
    private static let samples = 4
    /// One prediction of this many runs the slower way, in case that has changed.
    private static let retryInterval = 32
    /// The most that the variant may take, as a part of the usual time.
    private static let worth = 0.9

    /// Nothing is known yet.
    package init() {}

    /// Chooses for the next prediction: true if it runs on the variant.
    package mutating func next() -> Bool {
        turn &+= 1
        guard isKnown else { return usual.count >= variant.count }
        return turn % Self.retryInterval == 0 ? !variantWins : variantWins
    }

    /// Records the time of a prediction in the engine, in nanoseconds.
    package mutating func record(_ time: UInt64, onVariant: Bool) {
        if onVariant { variant.add(Double(time)) } else { usual.add(Double(time)) }
    }

    /// True if the variant takes enough less to be worth its processor time and memory; also true as long as that is
    /// not known.
    package var variantWins: Bool { !isKnown || variant.value <= usual.value * Self.worth }

    private var isKnown: Bool { min(usual.count, variant.count) >= Self.samples }
}

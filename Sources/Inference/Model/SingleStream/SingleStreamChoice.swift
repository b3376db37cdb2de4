/// Chooses how single-stream predictions run, by measured times: like all others, or on the variant with more threads.
///
/// More threads do not help if other programs use the processors, or for small models; and each takes processor time.
/// So the variant must be a tenth faster, which is measured repeatedly. Once chosen, it is kept until it is a tenth
/// slower: on processors that others use too, both ways take the same time now and then, and to change between them
/// makes the slowest hundredth slower.
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
    /// Predictions until the slower way runs again, and from then to the next time.
    private var left = SingleStreamChoice.shortestInterval, interval = SingleStreamChoice.shortestInterval
    /// The faster way's time when the slower one last ran, or when its time changed.
    private var compared = 0.0

    /// Predictions of each way before the two are compared.
    private static let samples = 4
    /// One prediction of this many runs the slower way, in case that has changed: each time twice as many, so that it
    /// is not the slower way that makes the slowest hundredth.
    private static let shortestInterval = 4, longestInterval = 1_024
    /// A time has changed that is longer or shorter by this factor.
    private static let change = 1.5
    /// The most that the variant may take to be chosen and to be kept, as parts of the usual time.
    private static let worth = 0.9, bearable = 1.1
    /// True if the variant won the last comparison.
    private var isChosen = false

    /// Nothing is known yet.
    package init() {}

    /// Chooses for the next prediction: true if it runs on the variant.
    package mutating func next() -> Bool {
        guard isKnown else { return usual.count >= variant.count }
        let fastest = variantWins ? variant.value : usual.value
        if fastest > compared * Self.change || compared > fastest * Self.change {
            compared = fastest
            compareSoon()
        }
        left -= 1
        guard left <= 0 else { return variantWins }
        interval = min(interval * 2, Self.longestInterval)
        left = interval
        compared = fastest
        return !variantWins
    }

    /// Records the time of a prediction in the engine, in nanoseconds.
    package mutating func record(_ time: UInt64, onVariant: Bool) {
        let (won, time) = (variantWins, Double(time))
        let isSurprise = onVariant ? isWorth(time, insteadOf: usual.value) : !isWorth(variant.value, insteadOf: time)
        if onVariant { variant.add(time) } else { usual.add(time) }
        isChosen = isKnown && isWorth(variant.value, insteadOf: usual.value)
        if won != variantWins || onVariant != won && isSurprise { compareSoon() }
    }

    private mutating func compareSoon() {
        interval = Self.shortestInterval
        left = min(left, interval)
    }

    private func isWorth(_ time: Double, insteadOf other: Double) -> Bool {
        time <= other * (isChosen ? Self.bearable : Self.worth)
    }

    /// True if the variant takes enough less to be worth its processor time and memory; also true as long as that is
    /// not known.
    package var variantWins: Bool { !isKnown || isChosen }

    private var isKnown: Bool { min(usual.count, variant.count) >= Self.samples }
}

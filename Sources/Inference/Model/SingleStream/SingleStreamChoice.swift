/// Chooses how single-stream predictions run, by measured times: like all others, or on the variant with more threads.
///
/// More threads do not help if other programs use the processors, or for small models, and each thread takes processor
/// time. The variant must therefore be 10 % faster, which is measured repeatedly. Once chosen, it is kept until it is
/// 10 % slower: if other programs use the processors too, both alternatives occasionally take the same time, and
/// switching between them increases the 99th percentile.
package struct SingleStreamChoice: Sendable {
    /// A moving mean of about the last eight times, in nanoseconds.
    private struct Mean: Sendable {
        var value = 0.0
        var count = 0

        mutating func add(_ time: Double) {
            count += 1
            // Limits the effect of a single delay.
            let time = count > SingleStreamChoice.samples ? min(time, value * 4) : time
            value += (time - value) / Double(min(count, 8))
        }
    }

    private var usual = Mean(), variant = Mean()
    /// The number of predictions until the slower alternative runs again, and the present interval between such runs.
    private var left = SingleStreamChoice.shortestInterval, interval = SingleStreamChoice.shortestInterval
    /// The time of the faster alternative when the slower one last ran, or when its time changed.
    private var compared = 0.0

    /// The number of predictions of each alternative before the two are compared.
    private static let samples = 4
    /// The bounds of the interval, in predictions, at which the slower alternative runs once, in case it has become
    /// faster. The interval doubles each time, so that the slower alternative does not increase the 99th percentile.
    private static let shortestInterval = 4, longestInterval = 1_024
    /// The factor by which a time must differ to count as changed.
    private static let change = 1.5
    /// The maximum time of the variant for choosing it, and for keeping it, as fractions of the usual time.
    private static let worth = 0.9, bearable = 1.1
    /// True if the variant won the last comparison.
    private var isChosen = false

    /// A choice without measurements.
    package init() {}

    /// Chooses for the next prediction: true if it runs on the variant.
    package mutating func next() -> Bool {
        guard isKnown else { return usual.count >= variant.count }
        let fastest = variantWins ? variant.value : usual.value
        if fastest > compared * Self.change || compared > fastest * Self.change {
            compared = fastest
            scheduleComparison()
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
        if won != variantWins || onVariant != won && isSurprise { scheduleComparison() }
    }

    private mutating func scheduleComparison() {
        interval = Self.shortestInterval
        left = min(left, interval)
    }

    private func isWorth(_ time: Double, insteadOf other: Double) -> Bool {
        time <= other * (isChosen ? Self.bearable : Self.worth)
    }

    /// True if the variant is enough faster to be worth its processor time and memory; also true while that is unknown.
    package var variantWins: Bool { !isKnown || isChosen }

    private var isKnown: Bool { min(usual.count, variant.count) >= Self.samples }
}

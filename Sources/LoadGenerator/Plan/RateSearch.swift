/// The search for the highest rate that holds: from a rate, up by half until one does not hold, then between the two.
package struct RateSearch: Sendable {
    /// The nearness of the rate that holds and the one that does not at the end, and the most rates that are tried.
    static let precision = 1.04
    static let mostTries = 14

    /// The highest rate that held.
    package private(set) var best: Double?
    /// The lowest rate that did not.
    private var above: Double?
    private var tries = 0
    /// The rate to try next; nil when the search is over.
    package private(set) var next: Double?

    /// - Parameter capacity: what the server answers in a closed loop, near which the search begins.
    package init(capacity: Double) { next = Self.rounded(0.8 * capacity) }

    /// Takes what came of the rate that was to be tried.
    package mutating func record(holds: Bool) {
        guard let tried = next else { return }
        tries += 1
        if holds { best = max(tried, best ?? 0) } else { above = min(tried, above ?? .infinity) }
        let wanted: Double =
            switch (best, above) {
            case (let best?, let above?): above / best <= Self.precision ? best : (best + above) / 2
            case (let best?, nil): best * 1.5
            case (nil, let above?): above / 2
            case (nil, nil): tried
            }
        let rate = Self.rounded(wanted)
        // A rate that was tried, by rounding or at a bound, says nothing new.
        next = tries < Self.mostTries && rate != best && rate != above ? rate : nil
    }

    private static func rounded(_ rate: Double) -> Double {
        let rate = min(max(rate, LoadPlan.rateBounds.lowerBound), LoadPlan.rateBounds.upperBound)
        return rate < 10 ? (rate * 10).rounded() / 10 : rate.rounded()
    }
}

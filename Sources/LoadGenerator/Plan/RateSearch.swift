/// A search for the highest rate that meets the objective: increases the rate by half until it fails, then bisects.
package struct RateSearch: Sendable {
    /// The ratio of the lowest failing rate to the highest passing one at which the search ends; the maximum number of
    /// rates to try.
    static let precision = 1.04
    static let maximumTries = 14

    /// The highest rate that passed.
    package private(set) var best: Double?
    /// The lowest rate that failed.
    private var above: Double?
    private var tries = 0
    /// The rate to try next; nil when the search is complete.
    package private(set) var next: Double?

    /// - Parameter capacity: the server's rate of answers in a closed loop, near which the search begins.
    package init(capacity: Double) { next = Self.rounded(0.8 * capacity) }

    /// Records the result for the rate `next`.
    package mutating func record(holds: Bool) {
        guard let tried = next else { return }
        tries += 1
        if holds { best = max(tried, best ?? 0) } else { above = min(tried, above ?? .infinity) }
        let nextRate: Double =
            switch (best, above) {
            case (let best?, let above?): above / best <= Self.precision ? best : (best + above) / 2
            case (let best?, nil): best * 1.5
            case (nil, let above?): above / 2
            case (nil, nil): tried
            }
        let rate = Self.rounded(nextRate)
        // A rate that was tried already, because of rounding or a bound, gives no new information.
        next = tries < Self.maximumTries && rate != best && rate != above ? rate : nil
    }

    private static func rounded(_ rate: Double) -> Double {
        let rate = min(max(rate, LoadPlan.rateBounds.lowerBound), LoadPlan.rateBounds.upperBound)
        return rate < 10 ? (rate * 10).rounded() / 10 : rate.rounded()
    }
}

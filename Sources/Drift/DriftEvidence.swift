/// The evidence of a change in a sequence of p-values: the mean of eight sums after Shiryaev and Roberts.
///
/// A. N. Shiryaev, On optimum methods in quickest detection problems, Theory of Probability and Its Applications 8
/// (1963), 22–46; V. Vovk, Testing randomness online, arXiv:2102.10439; V. Vovk and others, Retrain or not retrain,
/// arXiv:2203.03532. While pictures are exchangeable, p-values are independent and uniform. Each sum bets on one way in
/// which they may not be: too small or too large, in the middle or at the ends, weakly or strongly. The expected value
/// of each sum, and so of the mean, is then the number of pictures: it exceeds c within n pictures with at most the
/// probability n / c, and on average after c pictures or more.
struct DriftEvidence: Sendable, Equatable {
    /// The maximum of a sum: beyond it a sum would become infinite, and infinity times 0 is not a number. No threshold
    /// is near it.
    static let most = 1e300
    /// The factors of the bets.
    private static let stakes = SIMD8<Double>(-2, -1, 1, 2, -2, -1, 1, 2)

    /// The sums: four that bet on p, and four on |2 p - 1|.
    private(set) var sums = SIMD8<Double>(repeating: 0)

    /// No evidence.
    init() {}

    /// The evidence of earlier pictures; nil if a sum is not possible.
    init?(_ sums: [Double]) {
        guard sums.count == 8, sums.allSatisfy({ $0 >= 0 && $0 <= Self.most }) else { return nil }
        self.sums = SIMD8(sums)
    }

    /// The evidence; at most ``most``.
    var value: Double { sums.sum() / 8 }

    /// Takes the next p-value, from 0 to 1.
    mutating func add(_ p: Double) {
        let ends = abs(2 * p - 1)
        let values = SIMD8<Double>(p, p, p, p, ends, ends, ends, ends)
        let bets = SIMD8<Double>(repeating: 1) + Self.stakes * (values - 0.5)
        sums = (sums + 1) * bets
        sums.clamp(
            lowerBound: SIMD8(repeating: 0), upperBound: SIMD8(repeating: Self.most))
    }
}

internal import Glibc

/// Decides after each picture whether a candidate agrees often enough: Wald's sequential probability ratio test.
///
/// A. Wald, Sequential Tests of Statistical Hypotheses, Annals of Mathematical Statistics 16 (1945), 117–186. The test
/// compares two hypotheses, the required agreement and one lower by ``margin``, and decides as soon as one explains the
/// pictures clearly better. It remains valid although it is checked after every picture, which would invalidate a test
/// with a fixed number of pictures. At these two agreements, each wrong decision has at most the probability ``error``,
/// and less beyond them; between them, either decision is correct. A decision is final.
package struct SequentialTest: Sendable, Hashable {
    package enum Decision: String, Sendable, CaseIterable {
        case agrees
        case disagrees
        case notYet = "not yet"
    }

    /// The distance below the required agreement at which a promotion counts as wrong.
    package static let margin = 0.03
    /// The maximum probability of each wrong decision. It is small to allow for pictures that are less independent than
    /// the test assumes.
    package static let error = 0.004

    /// The required agreement.
    package let agreement: Double
    package private(set) var compared = 0
    package private(set) var agreed = 0
    package private(set) var decision = Decision.notYet

    /// The logarithm of the likelihood ratio that a picture adds in favor of the lower agreement: if it agrees, and if
    /// it differs.
    private let ofAgreeing: Double, ofDiffering: Double
    private static let bound = log((1 - error) / error)

    /// - Parameter agreement: above 0, at most 1.
    package init(agreement: Double) {
        self.agreement = min(max(agreement, 0), 1)
        let lower = max(0, self.agreement - Self.margin)
        // If the agreement is 1, the first differing picture decides; if it is at most the margin, the first agreeing
        // one does.
        ofAgreeing = log(lower / self.agreement)
        ofDiffering = log((1 - lower) / (1 - self.agreement))
    }

    package mutating func add(agrees: Bool) {
        compared &+= 1
        if agrees { agreed &+= 1 }
        guard decision == .notYet else { return }
        let differed = compared - agreed
        // Infinite steps count only if they were taken: 0 times infinity is NaN.
        let evidence =
            (agreed > 0 ? Double(agreed) * ofAgreeing : 0) + (differed > 0 ? Double(differed) * ofDiffering : 0)
        if evidence >= Self.bound { decision = .disagrees } else if evidence <= -Self.bound { decision = .agrees }
    }

    /// The share of pictures that agreed; nil if there are no pictures yet.
    package var share: Double? { compared == 0 ? nil : Double(agreed) / Double(compared) }
}

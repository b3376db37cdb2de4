internal import Glibc

/// Decides, picture by picture, whether a candidate agrees often enough: Wald's sequential probability ratio test.
///
/// A. Wald, Sequential Tests of Statistical Hypotheses, Annals of Mathematical Statistics 16 (1945), 117–186. Of two
/// agreements, the wanted one and one that is ``margin`` below, the test says which explains the pictures better as
/// soon as that is clear enough; looking after each picture, which would make any test with a fixed number of pictures
/// wrong, is what it is made for. Each of the two mistakes has at most the probability ``error`` at these agreements,
/// and less beyond them; between them, either decision is right. The decision stays.
package struct SequentialTest: Sendable, Hashable {
    package enum Decision: String, Sendable, CaseIterable {
        case agrees
        case disagrees
        case notYet = "not yet"
    }

    /// The distance below the wanted agreement at which a promotion is a mistake.
    package static let margin = 0.03
    /// The probability of each mistake: a bound, which leaves room for pictures that are less independent than the test
    /// assumes.
    package static let error = 0.004

    /// The wanted agreement.
    package let agreement: Double
    package private(set) var compared = 0
    package private(set) var agreed = 0
    package private(set) var decision = Decision.notYet

    /// The logarithm of the likelihood ratio that a picture adds for the lower agreement: one that agrees, or one that
    /// does not.
    private let ofAgreeing: Double, ofDiffering: Double
    private static let bound = log((1 - error) / error)

    /// - Parameter agreement: above 0, at most 1.
    package init(agreement: Double) {
        self.agreement = min(max(agreement, 0), 1)
        let lower = max(0, self.agreement - Self.margin)
        // With an agreement of 1 the first picture that differs decides; with one that is not above the margin, the
        // first that agrees.
        ofAgreeing = log(lower / self.agreement)
        ofDiffering = log((1 - lower) / (1 - self.agreement))
    }

    package mutating func add(agrees: Bool) {
        compared &+= 1
        if agrees { agreed &+= 1 }
        guard decision == .notYet else { return }
        let differed = compared - agreed
        // An infinite step counts only if it was taken: 0 times infinity is not a number.
        let evidence =
            (agreed > 0 ? Double(agreed) * ofAgreeing : 0) + (differed > 0 ? Double(differed) * ofDiffering : 0)
        if evidence >= Self.bound { decision = .disagrees } else if evidence <= -Self.bound { decision = .agrees }
    }

    /// The share of pictures that agreed; nil before the first.
    package var share: Double? { compared == 0 ? nil : Double(agreed) / Double(compared) }
}

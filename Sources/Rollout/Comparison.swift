/// Compares the answers of two versions to the same pictures: counts agreements, sums differences, and keeps both by
/// class.
package struct Comparison: Sendable {
    /// The counts of one class: the first label of the serving version.
    package struct ClassCounts: Sendable, Hashable {
        package var compared = 0, agreed = 0

        package init(compared: Int = 0, agreed: Int = 0) {
            self.compared = compared
            self.agreed = agreed
        }
    }

    /// A picture for which the answers disagree.
    package struct Difference: Sendable {
        /// The digest or name of the picture.
        package let id: String
        package let serving: ComparableAnswer, candidate: ComparableAnswer
        /// From 0 to 1.
        package let score: Double
        package let reason: String
    }

    /// The number of differences that are kept: the largest ones.
    package static let maximumDifferences = 10
    /// The maximum number of classes counted separately; further ones are counted under ``otherClasses``.
    package static let maximumClasses = 1_000
    package static let otherClasses = ""

    package private(set) var test: SequentialTest
    /// The number of pictures that were due for comparison but skipped, because the comparison had no room.
    package private(set) var skipped = 0
    /// The number of pictures for which exactly one version returned an error.
    package private(set) var failures = 0
    /// The first error of the candidate on a picture that the serving version answered; nil if it returned no such
    /// error.
    package private(set) var candidateError: String?
    package private(set) var classes: [String: ClassCounts] = [:]
    /// The largest differences first.
    package private(set) var differences: [Difference] = []
    package var latency = LatencyComparison()
    private var overlaps = (count: 0, sum: 0.0)
    private var confidences = (count: 0, sum: 0.0, largest: 0.0)

    /// - Parameter agreement: the required share of agreeing pictures.
    package init(agreement: Double) { test = SequentialTest(agreement: agreement) }

    package var compared: Int { test.compared }
    package var agreed: Int { test.agreed }
    package var agreement: Double? { test.share }
    package var decision: SequentialTest.Decision { test.decision }
    /// The average share of common labels among the first five classes; nil if no classes were compared.
    package var topFiveOverlap: Double? { overlaps.count == 0 ? nil : overlaps.sum / Double(overlaps.count) }
    /// The mean and largest difference of the first class's confidence, over pictures on which both agree on that
    /// class.
    package var confidenceDifference: (mean: Double, largest: Double)? {
        confidences.count == 0 ? nil : (confidences.sum / Double(confidences.count), confidences.largest)
    }

    package mutating func skip() { skipped &+= 1 }

    /// Compares two answers to a picture and adds the result.
    @discardableResult
    package mutating func add(id: String, serving: ComparableAnswer, candidate: ComparableAnswer) -> Agreement {
        let agreement = Agreement(expected: serving, found: candidate)
        test.add(agrees: agreement.agrees)
        count(serving, agreement)
        if case .classes(let a) = serving, case .classes(let b) = candidate { compare(a, b) }
        switch (serving, candidate) {
        case (.failure, .failure): break
        case (.failure, _): failures &+= 1
        case (_, .failure(_, let message)):
            failures &+= 1
            candidateError = candidateError ?? message
        default: break
        }
        if !agreement.agrees {
            keep(
                Difference(
                    id: id, serving: serving, candidate: candidate, score: agreement.difference,
                    reason: agreement.reason ?? ""))
        }
        return agreement
    }

    private mutating func count(_ serving: ComparableAnswer, _ agreement: Agreement) {
        var label: String
        switch serving {
        case .classes(let found): label = found.first?.name ?? Self.otherClasses
        case .boxes(let found, _): label = found.first?.label ?? Self.otherClasses
        case .segments, .points, .embedding, .values, .text, .failure: return
        }
        if classes[label] == nil, classes.count >= Self.maximumClasses { label = Self.otherClasses }
        classes[label, default: ClassCounts()].compared &+= 1
        if agreement.agrees { classes[label, default: ClassCounts()].agreed &+= 1 }
    }

    private mutating func compare(_ a: [ComparableAnswer.ScoredLabel], _ b: [ComparableAnswer.ScoredLabel]) {
        let one = Set(a.prefix(5).map(\.name)), other = Set(b.prefix(5).map(\.name))
        let maximum = max(one.count, other.count)
        overlaps.count &+= 1
        overlaps.sum += maximum == 0 ? 1 : Double(one.intersection(other).count) / Double(maximum)
        guard let first = a.first, let second = b.first, first.name == second.name else { return }
        let difference = abs(first.confidence - second.confidence)
        confidences.count &+= 1
        confidences.sum += difference
        confidences.largest = max(confidences.largest, difference)
    }

    private mutating func keep(_ difference: Difference) {
        // A picture that is sent repeatedly is listed once.
        if let same = differences.firstIndex(where: { $0.id == difference.id }) {
            guard differences[same].score < difference.score else { return }
            differences.remove(at: same)
        }
        let place = differences.firstIndex { $0.score < difference.score } ?? differences.endIndex
        guard place < Self.maximumDifferences else { return }
        differences.insert(difference, at: place)
        if differences.count > Self.maximumDifferences { differences.removeLast() }
    }
}

extension Comparison {
    /// The event that follows from the comparison so far; nil if it is not conclusive yet.
    ///
    /// A candidate that returned an error is rolled back, and so is one that is significantly slower than the limit. It
    /// is promoted only if its measured time is within the limit, too.
    /// - Parameter digest: the digest of the candidate's files.
    package func verdict(for plan: RolloutPlan, digest: String?) -> RolloutMachine.Event? {
        if let error = candidateError { return .candidateReturnedError(reason: error, digest: digest) }
        guard let promote = plan.promote else { return nil }
        if let maximum = promote.latency, let minimum = latency.minimumRatio, minimum > maximum {
            return .measured(ratio: latency.ratio ?? minimum, digest: digest)
        }
        let isInTime = promote.latency.map { maximum in latency.ratio.map { $0 <= maximum } ?? true } ?? true
        switch decision {
        case .notYet: return nil
        case .agrees where compared < promote.after || !isInTime: return nil
        case .agrees, .disagrees:
            return .decided(decision, compared: compared, agreement: agreement ?? 0, digest: digest)
        }
    }
}

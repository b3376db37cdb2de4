/// The answers of two versions to the same pictures: how many agree, how much the others differ, and for which classes.
package struct Comparison: Sendable {
    /// The counts of one class: the first label of the version that serves.
    package struct ClassCounts: Sendable, Hashable {
        package var compared = 0, agreed = 0

        package init(compared: Int = 0, agreed: Int = 0) {
            self.compared = compared
            self.agreed = agreed
        }
    }

    /// A picture whose answers differ.
    package struct Difference: Sendable {
        /// The picture's digest, or name.
        package let id: String
        package let serving: ComparableAnswer, candidate: ComparableAnswer
        /// 0 to 1.
        package let score: Double
        package let reason: String
    }

    /// The number of pictures that are kept, those that differ most.
    package static let mostDifferences = 10
    /// Classes beyond this number are counted together, under ``otherClasses``.
    package static let mostClasses = 1_000
    package static let otherClasses = ""

    package private(set) var test: SequentialTest
    /// Pictures that were to be compared, and for which there was no room.
    package private(set) var skipped = 0
    /// Pictures for which one version gave an error and the other did not.
    package private(set) var failures = 0
    /// The first error that the candidate gave where the version that serves answered; nil if there was none.
    package private(set) var candidateError: String?
    package private(set) var classes: [String: ClassCounts] = [:]
    /// Those that differ most first.
    package private(set) var differences: [Difference] = []
    package var latency = LatencyComparison()
    private var overlaps = (count: 0, sum: 0.0)
    private var confidences = (count: 0, sum: 0.0, largest: 0.0)

    /// - Parameter agreement: the share of pictures that are to agree.
    package init(agreement: Double) { test = SequentialTest(agreement: agreement) }

    package var compared: Int { test.compared }
    package var agreed: Int { test.agreed }
    package var agreement: Double? { test.share }
    package var decision: SequentialTest.Decision { test.decision }
    /// The share of the first five classes that are the same, on average; nil if no classes were compared.
    package var topFiveOverlap: Double? { overlaps.count == 0 ? nil : overlaps.sum / Double(overlaps.count) }
    /// The difference of the first class's confidences, on average and at most, where that class is the same.
    package var confidenceDifference: (mean: Double, largest: Double)? {
        confidences.count == 0 ? nil : (confidences.sum / Double(confidences.count), confidences.largest)
    }

    package mutating func skip() { skipped &+= 1 }

    /// Adds the two answers to one picture.
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
        case .segments, .points, .embedding, .values, .failure: return
        }
        if classes[label] == nil, classes.count >= Self.mostClasses { label = Self.otherClasses }
        classes[label, default: ClassCounts()].compared &+= 1
        if agreement.agrees { classes[label, default: ClassCounts()].agreed &+= 1 }
    }

    private mutating func compare(_ a: [ComparableAnswer.ScoredLabel], _ b: [ComparableAnswer.ScoredLabel]) {
        let one = Set(a.prefix(5).map(\.name)), other = Set(b.prefix(5).map(\.name))
        let most = max(one.count, other.count)
        overlaps.count &+= 1
        overlaps.sum += most == 0 ? 1 : Double(one.intersection(other).count) / Double(most)
        guard let first = a.first, let second = b.first, first.name == second.name else { return }
        let difference = abs(first.confidence - second.confidence)
        confidences.count &+= 1
        confidences.sum += difference
        confidences.largest = max(confidences.largest, difference)
    }

    private mutating func keep(_ difference: Difference) {
        // One picture may be sent often: it is listed once.
        if let same = differences.firstIndex(where: { $0.id == difference.id }) {
            guard differences[same].score < difference.score else { return }
            differences.remove(at: same)
        }
        let place = differences.firstIndex { $0.score < difference.score } ?? differences.endIndex
        guard place < Self.mostDifferences else { return }
        differences.insert(difference, at: place)
        if differences.count > Self.mostDifferences { differences.removeLast() }
    }
}

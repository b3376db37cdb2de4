import Rollout
import TestSupport
import Testing

/// The counts and means that do not affect the decision.
@Suite struct ComparisonTests {
    private func classes(_ entries: [(String, Double)]) -> ComparableAnswer {
        .classes(entries.enumerated().map { .init(index: $0, label: $1.0, confidence: $1.1) })
    }

    @Test("comparisons are counted by the first class of the serving version's answer")
    func classesAreCountedByTheServingAnswer() throws {
        var comparison = Comparison(agreement: 0.98)
        let cat = classes([("cat", 0.9), ("dog", 0.1)]), dog = classes([("dog", 0.6), ("cat", 0.4)])
        comparison.add(id: "1", serving: cat, candidate: cat)
        comparison.add(id: "2", serving: cat, candidate: dog)
        comparison.add(id: "3", serving: dog, candidate: classes([("dog", 0.5), ("fox", 0.5)]))
        comparison.skip()
        #expect(comparison.classes["cat"] == .init(compared: 2, agreed: 1))
        #expect(comparison.classes["dog"] == .init(compared: 1, agreed: 1))
        #expect(comparison.compared == 3 && comparison.agreed == 2 && comparison.skipped == 1)
        #expect(comparison.agreement == 2.0 / 3 && comparison.decision == .notYet)
        // All labels, all labels, half of the labels in common.
        #expect(comparison.topFiveOverlap == 2.5 / 3)
        let difference = try #require(comparison.confidenceDifference)
        #expect(abs(difference.mean - 0.05) < 1e-12 && abs(difference.largest - 0.1) < 1e-12)
    }

    @Test("the ten most different pictures are kept, each of them once")
    func theTenThatDifferMostAreKeptOnce() {
        var comparison = Comparison(agreement: 0.5)
        func add(_ id: Int, _ share: Double) {
            comparison.add(
                id: "\(id)", serving: classes([("a", share), ("b", 1 - share)]), candidate: classes([("c", 1)]))
            comparison.add(
                id: "\(id)", serving: classes([("a", 0.4)]), candidate: classes([("b", 0.4)]))
        }
        for id in (0..<30).shuffled() { add(id, 0.5) }
        #expect(comparison.differences.count == 10)
        #expect(Set(comparison.differences.map(\.id)).count == 10)
        #expect(comparison.differences.allSatisfy { $0.score == 1 }, "0.5 + 0.5 + 1 over 2")
        comparison.add(id: "last", serving: classes([("a", 0.1)]), candidate: classes([("b", 0.1)]))
        #expect(!comparison.differences.contains { $0.id == "last" })
        #expect(comparison.differences.first?.reason == "expected a 0.50, got c 1.00")
    }

    @Test("an error of only the candidate counts as a failure, and the same error of both as agreement")
    func errorsOfOneSideAreCounted() {
        var comparison = Comparison(agreement: 0.5)
        let error = ComparableAnswer.failure(code: "internal", message: "x")
        comparison.add(id: "1", serving: classes([("a", 1)]), candidate: error)
        comparison.add(id: "2", serving: error, candidate: error)
        #expect(comparison.failures == 1 && comparison.agreed == 1)
    }

    @Test("classes beyond the limit are counted together under one name")
    func classesAreBounded() {
        var comparison = Comparison(agreement: 0.5)
        for number in 0..<3_000 {
            let answer = classes([("\(number)", 1)])
            comparison.add(id: "", serving: answer, candidate: answer)
        }
        #expect(comparison.classes.count == Comparison.maximumClasses + 1)
        #expect(comparison.classes[Comparison.otherClasses] == .init(compared: 2_000, agreed: 2_000))
    }

    /// A candidate that was called only under load does not count as slower.
    @Test("latencies are compared at equal occupancy, from 20 measurements of a version on")
    func timesAreComparedAtEqualOccupancy() throws {
        var latency = LatencyComparison()
        for _ in 0..<1_000 { latency.add(1_000, occupancy: 1, of: .serving) }
        for _ in 0..<30 { latency.add(3_000, occupancy: 4, of: .serving) }
        for _ in 0..<19 { latency.add(6_000, occupancy: 4, of: .candidate) }
        #expect(latency.ratio == nil, "19 are too few")
        latency.add(6_000, occupancy: 4, of: .candidate)
        #expect(latency.ratio == 2)
        // The mean over both occupancies, weighted by the smaller counts: (20 * 2 + 60 * 1) / 80.
        for _ in 0..<60 { latency.add(1_000, occupancy: 1, of: .candidate) }
        #expect(latency.ratio == 1.25)
        latency.add(.max, occupancy: .max, of: .candidate)
        latency.add(5, occupancy: -3, of: .serving)
        #expect(latency.ratio != nil)
    }
}

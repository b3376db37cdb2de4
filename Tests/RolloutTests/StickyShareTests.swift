import Rollout
import TestSupport
import Testing

/// The senders in a candidate's share: as many as the share, always the same ones, and a superset for a larger share.
@Suite struct StickyShareTests {
    private let candidate = StickyShare.number(Array("m\u{0}2".utf8))

    private func chosen(_ share: Double, candidate: UInt64, senders: Int = 20_000) -> Set<Int> {
        Set(
            (0..<senders).filter {
                StickyShare.contains(StickyShare.number(Array("user\($0)".utf8)), share: share, candidate: candidate)
            })
    }

    /// The test vectors of Fowler, Noll and Vo (FNV-1a, 64 bits).
    @Test("the number of a sender is the FNV-1a hash of the published test vectors")
    func theNumberIsFNV() {
        #expect(StickyShare.number(Array("".utf8)) == 0xCBF2_9CE4_8422_2325)
        #expect(StickyShare.number(Array("a".utf8)) == 0xAF63_DC4C_8601_EC8C)
        #expect(StickyShare.number(Array("foobar".utf8)) == 0x8594_4171_F739_67E8)
    }

    @Test("the number of chosen senders matches the share", arguments: [0, 0.01, 0.1, 0.5, 0.9, 1])
    func asManyAsTheShareSays(_ share: Double) {
        let count = Double(chosen(share, candidate: candidate).count)
        // Four standard deviations of 20,000 draws.
        let deviation = (20_000 * share * (1 - share)).squareRoot()
        #expect(abs(count - 20_000 * share) <= 4 * deviation, "\(count)")
    }

    @Test("a larger share keeps every sender of a smaller share")
    func aLargerShareKeepsWhoWasInASmallerOne() {
        let small = chosen(0.1, candidate: candidate), large = chosen(0.3, candidate: candidate)
        #expect(small.isSubset(of: large) && small.count < large.count)
    }

    @Test("the share of another candidate has mostly other senders")
    func anotherCandidateHasOthers() {
        let one = chosen(0.1, candidate: candidate)
        let other = chosen(0.1, candidate: StickyShare.number(Array("m\u{0}3".utf8)))
        // By chance, a tenth of a tenth is common.
        #expect(one.intersection(other).count < 300)
    }
}

/// The verdict from answers and times.
@Suite struct VerdictTests {
    private func label(_ name: String) -> ComparableAnswer { .classes([.init(index: 0, label: name, confidence: 1)]) }

    private func plan(after: Int = 10, agreement: Double = 0.5, latency: Double? = 1.2) -> RolloutPlan {
        var plan = RolloutPlan()
        plan.candidate = RolloutPlan.Candidate(version: "2")
        var promotion = RolloutPlan.Promotion()
        (promotion.after, promotion.agreement, promotion.latency) = (after, agreement, latency)
        plan.promote = promotion
        return plan
    }

    private func times(_ comparison: inout Comparison, _ serving: [UInt64], _ candidate: [UInt64], count: Int) {
        for index in 0..<count {
            comparison.latency.add(serving[index % serving.count], occupancy: 1, of: .serving)
            comparison.latency.add(candidate[index % candidate.count], occupancy: 1, of: .candidate)
        }
    }

    @Test("an error of only the candidate is a verdict, even without promote")
    func anErrorOfTheCandidateAloneIsOut() {
        var comparison = Comparison(agreement: 0.98)
        comparison.add(id: "a", serving: .failure(code: "x", message: "s"), candidate: label("a"))
        comparison.add(
            id: "b", serving: .failure(code: "x", message: "s"), candidate: .failure(code: "x", message: "c"))
        #expect(comparison.verdict(for: RolloutPlan(), digest: nil) == nil)
        comparison.add(id: "c", serving: label("a"), candidate: .failure(code: "x", message: "broken"))
        guard case .candidateReturnedError("broken", "d")? = comparison.verdict(for: RolloutPlan(), digest: "d") else {
            Issue.record("an error is out without promote, too")
            return
        }
    }

    @Test("a promotion waits for enough pictures and for a latency ratio within its limit")
    func aPromotionWaitsForItsNumberAndItsTime() {
        var comparison = Comparison(agreement: 0.5)
        for number in 0..<200 { comparison.add(id: "\(number)", serving: label("a"), candidate: label("a")) }
        #expect(comparison.decision == .agrees)
        #expect(comparison.verdict(for: plan(after: 201), digest: nil) == nil)
        #expect(comparison.verdict(for: plan(after: 200), digest: nil) != nil)
        // 1.25 times as long, but with so much variance that it may be chance.
        times(&comparison, [1_000, 3_000], [1_500, 3_500], count: 20)
        #expect(comparison.latency.ratio == 1.25)
        #expect(comparison.verdict(for: plan(after: 200), digest: nil) == nil, "neither promoted nor rolled back")
        #expect(comparison.verdict(for: plan(after: 200, latency: 1.3), digest: nil) != nil)
        var without = plan(after: 200)
        without.promote = nil
        #expect(comparison.verdict(for: without, digest: nil) == nil)
    }

    @Test("a candidate that is slower than allowed beyond chance gets a latency verdict")
    func oneThatIsSlowBeyondChanceIsOut() {
        var comparison = Comparison(agreement: 0.98)
        times(&comparison, [1_000, 1_100], [2_000, 2_200], count: 20)
        guard case .measured(let ratio, _)? = comparison.verdict(for: plan(), digest: nil) else {
            Issue.record("\(String(describing: comparison.latency.minimumRatio))")
            return
        }
        #expect(ratio == 2)
        #expect(comparison.verdict(for: plan(latency: 3), digest: nil) == nil)
        #expect(comparison.verdict(for: plan(latency: nil), digest: nil) == nil)
    }
}

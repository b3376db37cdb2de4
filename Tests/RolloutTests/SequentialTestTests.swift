import Rollout
import TestSupport
import Testing

/// The number of pictures until a decision, and the share of wrong decisions: 1,000 simulations each of the deciding
/// code, compared with the exact probabilities, which were computed by a recursion over the number of differing
/// pictures (numpy; all states with their probabilities, picture by picture).
@Suite struct SequentialTestTests {
    private struct Outcome {
        var agrees = 0, disagrees = 0, undecided = 0
        /// The number of pictures until the decision.
        var lengths: [Int] = []
    }

    private static let runs = 1_000

    private func simulate(true share: Double, wanted: Double, maximum: Int, seed: UInt64) -> Outcome {
        var random = SplitMix(seed: seed)
        var outcome = Outcome()
        for _ in 0..<Self.runs {
            var test = SequentialTest(agreement: wanted)
            while test.decision == .notYet, test.compared < maximum {
                test.add(agrees: Double.random(in: 0..<1, using: &random) < share)
            }
            switch test.decision {
            case .agrees: outcome.agrees += 1
            case .disagrees: outcome.disagrees += 1
            case .notYet: outcome.undecided += 1
            }
            outcome.lengths.append(test.compared)
        }
        return outcome
    }

    /// Candidates with 20 %, 10 % and 5 % of wrong answers, for a required agreement of 0.98. The exact probabilities
    /// are 0.99871, 0.99911 and 0.99399.
    @Test(
        "a candidate with 20, 10 or 5 % wrong answers is rejected within 100, 300 or 1,500 pictures",
        arguments: [(0.80, 100, 0.99871), (0.90, 300, 0.99911), (0.95, 1_500, 0.99399)])
    func aSpoiledCandidateIsFound(_ share: Double, _ pictures: Int, _ exact: Double) {
        for seed in [1, 2, 3] as [UInt64] {
            let found = simulate(true: share, wanted: 0.98, maximum: pictures, seed: seed).disagrees
            #expect(found >= 990, "\(found) of 1,000 within \(pictures) pictures, seed \(seed)")
            // Four standard deviations for a thousand runs.
            let deviation = (exact * (1 - exact) * Double(Self.runs)).squareRoot()
            #expect(abs(Double(found) - exact * Double(Self.runs)) <= 4 * deviation, "seed \(seed)")
        }
    }

    /// The required agreement, and 0.03 below: the exact probabilities of a wrong decision are from 0 to 0.00394.
    @Test(
        "at most 1 % of a thousand simulated decisions are wrong, for any wanted agreement",
        arguments: [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0])
    func mistakesAreRare(_ wanted: Double) {
        let good = simulate(true: wanted, wanted: wanted, maximum: 100_000, seed: 4)
        #expect(good.disagrees <= 10 && good.undecided == 0, "\(good.disagrees) false roll-backs")
        let better = simulate(true: (1 + wanted) / 2, wanted: wanted, maximum: 100_000, seed: 5)
        #expect(better.disagrees <= 10 && better.undecided == 0)
        let bad = simulate(true: wanted - 0.03, wanted: wanted, maximum: 100_000, seed: 6)
        #expect(bad.agrees <= 10 && bad.undecided == 0, "\(bad.agrees) false promotions")
        let worse = simulate(true: wanted - 0.1, wanted: wanted, maximum: 100_000, seed: 7)
        #expect(worse.agrees <= 10 && worse.undecided == 0)
    }

    /// Halfway between the two, either decision is correct, but there must be one.
    @Test("a candidate half way between both hypotheses is decided on within 20,000 pictures")
    func betweenTheTwoItDecidesTooAfterAWhile() {
        let middle = simulate(true: 0.965, wanted: 0.98, maximum: 20_000, seed: 8)
        #expect(middle.undecided == 0)
        #expect(middle.agrees > 100 && middle.disagrees > 100)
    }

    /// Wald's sum by hand: log(0.95/0.98) for an agreeing picture, log(0.05/0.02) for a differing one, up to
    /// ±log(0.996/0.004) = ±5.5175.
    @Test("at a wanted agreement of 0.98, 178 agreeing or 7 differing pictures decide")
    func theFewestPictures() {
        var test = SequentialTest(agreement: 0.98)
        for _ in 0..<177 { test.add(agrees: true) }
        #expect(test.decision == .notYet, "177 * 0.031091 = 5.503")
        test.add(agrees: true)
        #expect(test.decision == .agrees, "178 * 0.031091 = 5.534")
        test = SequentialTest(agreement: 0.98)
        for _ in 0..<6 { test.add(agrees: false) }
        #expect(test.decision == .notYet, "6 * 0.916291 = 5.498")
        test.add(agrees: false)
        #expect(test.decision == .disagrees)
    }

    @Test("a decision stays the same while the counts go on")
    func aDecisionStaysAndTheCountsGoOn() {
        var test = SequentialTest(agreement: 0.98)
        for _ in 0..<7 { test.add(agrees: false) }
        for _ in 0..<10_000 { test.add(agrees: true) }
        #expect(test.decision == .disagrees)
        #expect(test.compared == 10_007 && test.agreed == 10_000)
        #expect(test.share == 10_000.0 / 10_007)
        #expect(SequentialTest(agreement: 0.98).share == nil)
    }

    /// If all pictures must agree, a single differing one decides; if almost none must, the first agreeing one does.
    @Test("a wanted agreement of 1 is refuted by one difference, and of 0.03 confirmed by one agreement")
    func theEndsOfTheRange() {
        var all = SequentialTest(agreement: 1)
        for _ in 0..<100 { all.add(agrees: true) }
        #expect(all.decision == .notYet)
        all.add(agrees: false)
        #expect(all.decision == .disagrees)
        all = SequentialTest(agreement: 1)
        for _ in 0..<182 { all.add(agrees: true) }
        #expect(all.decision == .agrees, "182 * -log(0.97) = 5.54")
        var little = SequentialTest(agreement: 0.03)
        little.add(agrees: false)
        #expect(little.decision == .notYet)
        little.add(agrees: true)
        #expect(little.decision == .agrees)
    }
}

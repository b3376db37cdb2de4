import Rollout
import TestSupport
import Testing

/// Simulated rollouts of candidates with known defects, through the deciding code: pairs of answers go to
/// ``Comparison``, its verdict to ``RolloutMachine``.
@Suite struct RolloutSimulationTests {
    /// A candidate, by its defect.
    enum Candidate: String, CaseIterable, Sendable {
        case good, atTheWantedAgreement, threeBelow
        case channelsExchanged, noMean, labelsPermuted, oneClassWrong, fivePercentWrong, tenPercentWrong,
            quantizedTooFar
        case twiceAsSlow, erring

        /// The share of pictures with another answer. Those of defective candidates were measured with a MobileNet on
        /// photographs (Benchmarks/results/2026-11-28-rollout.md), and rounded down.
        var wrong: Double {
            switch self {
            case .good, .twiceAsSlow, .erring: 0.005
            case .atTheWantedAgreement: 0.02
            case .threeBelow: 0.05
            case .channelsExchanged: 0.5
            case .noMean: 0.4
            case .labelsPermuted: 0.99
            // One class of ten.
            case .oneClassWrong, .tenPercentWrong: 0.1
            case .fivePercentWrong: 0.05
            case .quantizedTooFar: 0.2
            }
        }

        /// The number of pictures within which the defect must be found with 99 % probability.
        var limit: Int? {
            switch self {
            case .channelsExchanged, .noMean, .labelsPermuted, .quantizedTooFar: 100
            case .oneClassWrong, .tenPercentWrong: 300
            case .fivePercentWrong, .threeBelow: 1_500
            case .twiceAsSlow: 300
            case .erring: 300
            case .good, .atTheWantedAgreement: nil
            }
        }
    }

    static let runs = 1_000

    /// Runs one rollout; returns its final state and the number of compared pictures.
    private func run(_ candidate: Candidate, _ random: inout SplitMix) -> (RolloutMachine.State, compared: Int) {
        var plan = RolloutPlan()
        plan.serve = "1"
        plan.candidate = RolloutPlan.Candidate(version: "2")
        plan.candidate?.shadow = 1
        var promotion = RolloutPlan.Promotion()
        promotion.latency = 1.2
        plan.promote = promotion
        var machine = RolloutMachine()
        _ = machine.handle(.put(plan, digests: [:]))
        var comparison = Comparison(agreement: promotion.agreement)
        func label(_ name: String) -> ComparableAnswer { .classes([.init(index: 0, label: name, confidence: 0.9)]) }
        for picture in 1...20_000 {
            var answer = label("a")
            if Double.random(in: 0..<1, using: &random) < candidate.wrong { answer = label("b") }
            if candidate == .erring, picture == 200 { answer = .failure(code: "internal", message: "no") }
            comparison.add(id: "\(picture)", serving: label("a"), candidate: answer)
            // Times on a loaded machine vary randomly up to a factor of two.
            for (side, factor) in [
                (LatencyComparison.Side.serving, 1.0), (.candidate, candidate == .twiceAsSlow ? 2 : 1),
            ] {
                let time = 1e7 * factor * Double.random(in: 1...2, using: &random)
                comparison.latency.add(UInt64(time), occupancy: Int.random(in: 1...3, using: &random), of: side)
            }
            if let event = comparison.verdict(for: machine.plan, digest: "d2") { _ = machine.handle(event) }
            if machine.state != .comparing { return (machine.state, picture) }
        }
        return (machine.state, 20_000)
    }

    @Test(
        "a thousand simulated rollouts promote good candidates and roll back spoiled ones in time",
        arguments: Candidate.allCases)
    func aThousandRollouts(_ candidate: Candidate) {
        let seed = SplitMix.seed(for: "RolloutSimulationTests.\(candidate.rawValue)")
        var random = SplitMix(seed: seed)
        var states: [RolloutMachine.State: Int] = [:], late = 0, longest = 0
        for _ in 0..<Self.runs {
            let (state, compared) = run(candidate, &random)
            states[state, default: 0] += 1
            longest = max(longest, compared)
            if let limit = candidate.limit, state == .rolledBack, compared > limit { late += 1 }
        }
        // One percent, plus three standard deviations for chance: each run has another seed.
        let share = Double(Self.runs) / 100, maximum = Int(share + 3 * (share * 0.99).squareRoot())
        let words = "\(candidate.rawValue): \(states), late \(late), longest \(longest); seed \(seed)"
        print("rollout simulation: \(words)")
        switch candidate {
        case .good, .atTheWantedAgreement:
            #expect(states[.rolledBack, default: 0] <= maximum, "false roll-backs: \(words)")
            #expect(states[.promoted, default: 0] >= Self.runs - maximum, "\(words)")
        case .threeBelow, .fivePercentWrong:
            #expect(states[.promoted, default: 0] <= maximum, "false promotions: \(words)")
            #expect(late + states[.promoted, default: 0] <= maximum, "\(words)")
        default:
            #expect(states[.rolledBack, default: 0] == Self.runs && late <= maximum, "\(words)")
        }
    }
}

import Inference
import TestSupport
import Testing

/// The choice of the single-stream variant, by the times of both alternatives.
@Suite struct SingleStreamChoiceTests {
    /// Runs predictions one after another; the time of each alternative is given by the prediction's number.
    /// - Returns: the number of predictions that ran on the variant.
    private func run(
        _ count: Int, _ choice: inout SingleStreamChoice, usual: (Int) -> UInt64, variant: (Int) -> UInt64
    ) -> Int {
        (0..<count).count { index in
            let onVariant = choice.next()
            choice.record(onVariant ? variant(index) : usual(index), onVariant: onVariant)
            return onVariant
        }
    }

    @Test(
        "the faster of the variant and the usual way runs, and the slower is tried now and then",
        arguments: [(1_000, 600, true), (1_000, 880, true), (1_000, 950, false), (1_000, 1_500, false)])
    func theFasterOneRunsAndTheOtherIsLookedAtNowAndThen(_ usual: UInt64, _ variant: UInt64, _ wins: Bool) {
        var choice = SingleStreamChoice()
        _ = run(8, &choice, usual: { _ in usual }, variant: { _ in variant })
        #expect(choice.variantWins == wins)
        let count = run(320, &choice, usual: { _ in usual }, variant: { _ in variant })
        // The 4th, 12th, 28th, 60th, 124th and 252nd.
        #expect(count == (wins ? 314 : 6))
    }

    @Test("as long as nothing changes, one prediction of a thousand runs the slower way, and a change is found then")
    func theSlowerWayIsRare() {
        var choice = SingleStreamChoice()
        _ = run(5_000, &choice, usual: { _ in 1_000 }, variant: { _ in 3_000 })
        let tried = run(10_240, &choice, usual: { _ in 1_000 }, variant: { _ in 3_000 })
        #expect(tried == 10)
        _ = run(1_200, &choice, usual: { _ in 1_000 }, variant: { _ in 600 })
        #expect(choice.variantWins)
    }

    @Test(
        "when the faster way takes much longer or less than before, the slower one is tried soon",
        arguments: [4_000, 250])
    func aChangedPaceIsAChange(_ usual: UInt64) {
        var choice = SingleStreamChoice()
        _ = run(5_000, &choice, usual: { _ in 1_000 }, variant: { _ in 1_100 })
        #expect(run(100, &choice, usual: { _ in usual }, variant: { _ in usual * 2 }) >= 3)
    }

    /// Another program that uses the processors makes the variant slower: during that time the usual way is chosen.
    @Test("a variant that becomes slower than the usual way loses the choice, and wins again when faster")
    func itFollowsWhatChanges() {
        var choice = SingleStreamChoice()
        _ = run(100, &choice, usual: { _ in 1_000 }, variant: { _ in 600 })
        #expect(choice.variantWins)
        _ = run(100, &choice, usual: { _ in 1_200 }, variant: { _ in 3_000 })
        #expect(!choice.variantWins)
        _ = run(600, &choice, usual: { _ in 1_000 }, variant: { _ in 600 })
        #expect(choice.variantWins)
    }

    @Test("the variant is chosen if it is 10 % faster, and kept until it is 10 % slower")
    func itIsKeptWhereBothTakeTheSame() {
        var choice = SingleStreamChoice()
        for (variant, wins) in [(950, false), (880, true), (1_080, true), (1_120, false), (920, false), (880, true)] {
            _ = run(3_000, &choice, usual: { _ in 1_000 }, variant: { _ in UInt64(variant) })
            #expect(choice.variantWins == wins, "\(variant)")
        }
    }

    @Test("a single delayed prediction or noise in the times does not change the choice of the variant")
    func oneThatWasHeldUpChangesNothing() {
        var choice = SingleStreamChoice()
        let count = run(400, &choice, usual: { _ in 1_000 }, variant: { $0 == 200 ? 1_000_000 : 600 })
        #expect(choice.variantWins && count > 380)
        var noise = SplitMix(seed: 17)
        choice = SingleStreamChoice()
        let noisy = run(
            4_000, &choice, usual: { _ in 1_000 + noise.next() % 400 }, variant: { _ in 600 + noise.next() % 400 })
        #expect(noisy > 3_600, "\(noisy) of 4000")
    }
}

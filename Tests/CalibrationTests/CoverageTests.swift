import Calibration
import TestSupport
import Testing

/// Ranks and sets: exact products, and the coverage of drawn pictures.
@Suite struct CoverageTests {
    /// Python: math.ceil(fractions.Fraction(text) * (n + 1)).
    @Test(
        "ranks are exact where binary numbers are not",
        arguments: [
            ("0.9", 9, 9), ("0.9", 10, 10), ("0.9", 19, 18), ("0.95", 19, 19), ("0.99", 19, 20), ("0.07", 99, 7),
            ("0.29", 99, 29), ("0.57", 99, 57), ("0.58", 99, 58), ("0.1", 29, 3), ("0.7", 9, 7), ("0.5", 0, 1),
            ("0.999999999999999999", 999_999_999, 1_000_000_000), ("0.000000000000000001", 5, 1), ("9e-1", 19, 18),
            (".25", 7, 2), ("0.900000000000000000000000", 19, 18), ("0.3", 499_999, 150_000),
        ])
    func ranks(_ text: String, _ count: Int, _ rank: Int) {
        #expect(Coverage(text)?.rank(among: count) == rank)
    }

    @Test("the rank is the least whole number that is not less, for all hundredths")
    func everyHundredth() throws {
        for hundredth in 1..<100 {
            let coverage = try #require(Coverage(Double(hundredth) / 100))
            #expect(abs(coverage.share - Double(hundredth) / 100) < 1e-15)
            for count in 0..<300 {
                let rank = coverage.rank(among: count)
                #expect(rank * 100 >= (count + 1) * hundredth && (rank - 1) * 100 < (count + 1) * hundredth)
            }
            let least = coverage.leastCount
            #expect(coverage.rank(among: least) <= least && coverage.rank(among: least - 1) > least - 1)
        }
    }

    @Test(
        "other text is refused",
        arguments: [
            "", "0", "1", "1.0", "0.0", "-0.5", "+0.5", "1.5", "0x.8", "nan", "inf", "0.5 ", "0,5", ".", "0.5e",
            "5e-99999",
            "0.9.1", "0.1234567890123456789", "0." + String(repeating: "9", count: 70),
        ])
    func refused(_ text: String) { #expect(Coverage(text) == nil) }

    private static func calibration(_ confidences: [Float]) throws -> ClassifierCalibration {
        var answers = LabelledAnswers(classes: 2)
        for confidence in confidences { answers.take([confidence, 1 - confidence], right: 0) }
        return try #require(
            ClassifierCalibration(model: "sha256:" + String(repeating: "0", count: 64), by: answers))
    }

    @Test("a set has the labels up to the threshold, most confident first, equal ones in their order")
    func sets() throws {
        // Scores: 0.125, 0.25, 0.5, 0.75.
        let calibration = try Self.calibration([0.25, 0.5, 0.75, 0.875])
        #expect(calibration.scores == [0.125, 0.25, 0.5, 0.75])
        let half = try #require(Coverage("0.5")), most = try #require(Coverage("0.8")),
            all = try #require(Coverage("0.81"))
        #expect(calibration.threshold(half) == 0.5)
        #expect(calibration.set(half, of: [0.1, 0.5, 0.3, 0.1] as [Float]) == [1])
        #expect(calibration.set(half, of: [0.5, 0.5] as [Float]) == [0, 1])
        #expect(calibration.set(half, of: [0.3, 0.3, 0.4] as [Float]) == [])
        #expect(calibration.threshold(most) == 0.75)
        #expect(calibration.set(most, of: [0.25, 0.24, 0.51] as [Float]) == [2, 0])
        #expect(calibration.threshold(all) == nil)
        #expect(calibration.set(all, of: [0.2, 0.7, 0.1] as [Float]) == [1, 0, 2])
    }

    @Test("no picture, and too many, make no calibration")
    func counts() {
        #expect(ClassifierCalibration(model: "", by: LabelledAnswers(classes: 2)) == nil)
    }

    /// Twenty draws of 199 pictures for the calibration and 1,000 others, from one distribution with wrong confidences.
    /// The number of sets that hold the right label has a beta-binomial distribution: the bounds are
    /// scipy.stats.betabinom(1000, rank, 200 - rank).ppf([1e-6, 1 - 1e-6]), with ranks 160, 180 and 190.
    @Test(
        "drawn sets hold the right label as often as they must",
        arguments: [("0.8", 633, 921), ("0.9", 760, 979), ("0.95", 835, 997)])
    func coverage(_ text: String, _ least: Int, _ most: Int) throws {
        let coverage = try #require(Coverage(text))
        var sum = 0
        for seed in 1...20 as ClosedRange<UInt64> {
            var random = SplitMix(seed: seed)
            var answers = LabelledAnswers(classes: 4)
            for _ in 0..<199 {
                let (confidences, right) = Self.draw(&random)
                answers.take(confidences, right: right)
            }
            let calibration = try #require(ClassifierCalibration(model: "", by: answers))
            let held = (0..<1_000).count { _ in
                let (confidences, right) = Self.draw(&random)
                return calibration.set(coverage, of: confidences).contains(right)
            }
            #expect((least...most).contains(held), "\(held) of 1,000, seed \(seed)")
            sum += held
        }
        // The standard deviation of the mean of twenty is less than 0.009.
        #expect(abs(Double(sum) / 20_000 - coverage.share) < 0.036, "\(sum) of 20,000")
    }

    /// Confidences that are too high, softmax(logits), and a right class that is drawn from softmax(logits / 2.5).
    private static func draw(_ random: inout SplitMix) -> ([Float], Int) {
        let logits = (0..<4).map { _ in Double.random(in: -4...4, using: &random) }
        let honest = TemperatureTests.softmax(logits.map { $0 / 2.5 })
        var rest = Float.random(in: 0..<1, using: &random)
        for (index, share) in honest.enumerated() {
            if rest < share { return (TemperatureTests.softmax(logits), index) }
            rest -= share
        }
        return (TemperatureTests.softmax(logits), 3)
    }
}

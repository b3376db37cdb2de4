import Calibration
import Foundation
import TestSupport
import Testing

/// The calibrations of `../shared/data/trust/calibration`; their values come from numpy and SciPy.
@Suite struct SharedCalibrationTests {
    private struct Expected: Decodable {
        struct Quantile: Decodable {
            let coverage: Double, rank: Int, score: Double?
        }
        let logits: [[Double]]
        let labels: [String], right: [String]
        let temperature: Double
        let logLoss: [String: Double]
        let scores: [Double]
        let quantiles: [Quantile]
    }

    @Test(
        "temperature, scores and ranks are those of expected.json",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), arguments: ["two", "four"])
    func expected(_ name: String) throws {
        let folder = try #require(SharedData.folder).appendingPathComponent("trust/calibration")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let all = try decoder.decode(
            [String: Expected].self, from: Data(contentsOf: folder.appendingPathComponent("expected.json")))
        let expected = try #require(all[name])
        var answers = LabelledAnswers(classes: expected.labels.count)
        for (logits, label) in zip(expected.logits, expected.right) {
            let right = try #require(expected.labels.firstIndex(of: label))
            answers.take(TemperatureTests.softmax(logits), right: right)
        }
        let calibration = try #require(ClassifierCalibration(model: "", by: answers))
        #expect(abs(calibration.temperature - expected.temperature) < 1e-3)
        #expect(abs(answers.logLoss(at: 1) - (expected.logLoss["raw"] ?? 0)) < 1e-5)
        #expect(abs(answers.logLoss(at: calibration.temperature) - (expected.logLoss["calibrated"] ?? 0)) < 1e-6)
        #expect(calibration.scores.count == expected.scores.count)
        for (found, score) in zip(calibration.scores, expected.scores) { #expect(abs(found - score) < 1e-6) }
        for quantile in expected.quantiles {
            let coverage = try #require(Coverage(quantile.coverage))
            #expect(coverage.rank(among: calibration.pictures) == quantile.rank)
            let threshold = calibration.threshold(coverage)
            #expect((threshold == nil) == (quantile.score == nil))
            if let threshold, let score = quantile.score { #expect(abs(threshold - score) < 1e-6) }
        }
    }
}

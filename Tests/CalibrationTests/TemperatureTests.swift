import Calibration
import Foundation
import Testing

/// Temperatures, losses and scores, compared with scipy.optimize.minimize_scalar.
@Suite struct TemperatureTests {
    /// Answers with the logits scale × sin(5 i + 1.7 j). The right class is the most confident one, but for each
    /// `wrong`-th picture class (i + 1) modulo the number of classes.
    private static func answers(_ pictures: Int, _ classes: Int, scale: Double, wrong: Int) -> LabelledAnswers {
        var answers = LabelledAnswers(classes: classes)
        for picture in 0..<pictures {
            let logits = (0..<classes).map { scale * sin(5 * Double(picture) + 1.7 * Double($0)) }
            let best = logits.indices.max { logits[$0] < logits[$1] } ?? 0
            let right = picture % wrong == 0 ? (picture + 1) % classes : best
            answers.take(softmax(logits), right: right)
        }
        return answers
    }

    static func softmax(_ logits: [Double]) -> [Float] {
        let powers = logits.map { exp($0 - (logits.max() ?? 0)) }, sum = powers.reduce(0, +)
        return powers.map { Float($0 / sum) }
    }

    private struct Case: Sendable {
        let pictures: Int, classes: Int, scale: Double, wrong: Int
        let temperature: Double, loss: Double, calibratedLoss: Double, accuracy: Double
        /// The first, the middle and the last of the sorted scores.
        let scores: [Double]
    }

    /// numpy and scipy, with z = scale*np.sin(5.0*i+1.7*j), i a column and j a row, right = np.where(np.arange(n)%wrong
    /// != 0, z.argmax(1), (np.arange(n)+1)%k), loss(u) = np.mean(np.log(np.exp(z/np.exp(u)).sum(1)) -
    /// z[np.arange(n),right]/np.exp(u)), minimize_scalar(loss, bounds=(np.log(.05), np.log(100)), method="bounded",
    /// options=dict(xatol=1e-12)).
    private static let cases = [
        Case(
            pictures: 200, classes: 5, scale: 4, wrong: 3, temperature: 2.622160233137214, loss: 1.6352379840979847,
            calibratedLoss: 1.2107979423557387, accuracy: 0.73, scores: [0.02219248, 0.38272909, 0.99981447]),
        Case(
            pictures: 300, classes: 3, scale: 1, wrong: 10, temperature: 0.35545242023001467, loss: 0.6021368990217412,
            calibratedLoss: 0.40314360838903573, accuracy: 0.94, scores: [0.29491369, 0.40461295, 0.91145136]),
        Case(
            pictures: 150, classes: 10, scale: 9, wrong: 2, temperature: 6.0569245319263825, loss: 3.970204701040538,
            calibratedLoss: 1.9148752108757314, accuracy: 0.58, scores: [0.12386696, 0.47888322, 0.99999999]),
        Case(
            pictures: 1_000, classes: 2, scale: 6, wrong: 4, temperature: 3.40942077297606, loss: 0.78012365612211,
            calibratedLoss: 0.4300380306614583, accuracy: 0.876,
            scores: [1.21560994e-04, 3.53114136e-03, 9.99878439e-01]),
    ]

    @Test("temperature, log loss, accuracy and scores are those of SciPy", arguments: Self.cases.indices)
    func agreesWithSciPy(_ index: Int) {
        let expected = Self.cases[index]
        let answers = Self.answers(
            expected.pictures, expected.classes, scale: expected.scale, wrong: expected.wrong)
        let temperature = answers.bestTemperature, scores = answers.scores
        #expect(abs(temperature / expected.temperature - 1) < 1e-4, "\(temperature)")
        #expect(abs(answers.logLoss(at: 1) - expected.loss) < 1e-5)
        #expect(abs(answers.logLoss(at: temperature) - expected.calibratedLoss) < 1e-6)
        #expect(abs(answers.accuracy - expected.accuracy) < 1e-12)
        for (place, score) in zip([0, scores.count / 2, scores.count - 1], expected.scores) {
            #expect(abs(scores[place] - score) < 1e-6)
        }
        #expect(scores == scores.sorted())
    }

    @Test("two hundred thousand pictures have the temperature of the two hundred that they repeat")
    func many() {
        let few = Self.answers(200, 5, scale: 4, wrong: 3)
        var many = LabelledAnswers(classes: 5)
        for _ in 0..<1_000 {
            for index in 0..<few.count { _ = many.add(Array(few.row(index)), right: few.right[index]) }
        }
        #expect(many.count == 200_000)
        #expect(abs(many.bestTemperature / few.bestTemperature - 1) < 1e-9)
        #expect(abs(many.logLoss(at: 1) - few.logLoss(at: 1)) < 1e-9)
        #expect(many.accuracy == few.accuracy)
    }

    @Test("pictures that are all right, or all wrong, have a temperature at a bound")
    func separated() {
        var right = LabelledAnswers(classes: 3), wrong = LabelledAnswers(classes: 3)
        for index in 0..<50 {
            var logits = [0.0, 0, 0]
            logits[index % 3] = 4
            right.take(Self.softmax(logits), right: index % 3)
            wrong.take(Self.softmax(logits), right: (index + 1) % 3)
        }
        #expect(right.bestTemperature == Temperature.range.lowerBound)
        #expect(wrong.bestTemperature == Temperature.range.upperBound)
        #expect(right.accuracy == 1 && wrong.accuracy == 0)
    }

    @Test("a single class, equal confidences and no picture leave the temperature at 1")
    func flat() {
        var single = LabelledAnswers(classes: 1)
        single.take([1], right: 0)
        #expect(single.bestTemperature == 1)
        var equal = LabelledAnswers(classes: 4)
        equal.take([0.25, 0.25, 0.25, 0.25], right: 2)
        #expect(equal.bestTemperature == 1)
        #expect(LabelledAnswers(classes: 2).bestTemperature == 1)
    }

    @Test("confidences of 0 make no infinite loss, and no number that is not finite")
    func zeros() {
        var answers = LabelledAnswers(classes: 3)
        for index in 0..<20 { answers.take([1, 0, 0], right: index == 0 ? 1 : 0) }
        #expect(answers.bestTemperature.isFinite)
        #expect(answers.logLoss(at: 1).isFinite)
        for temperature in [Temperature.range.lowerBound, 1, 7.5, Temperature.range.upperBound] {
            let confidences = [1, 0, 0].withUnsafeBufferPointer { Temperature.applied(temperature, to: $0) } ?? []
            #expect(confidences.count == 3 && confidences.allSatisfy { $0.isFinite && (0...1).contains($0) })
            #expect(abs(confidences.reduce(0, +) - 1) < 1e-6)
        }
    }

    @Test("answers that do not fit are not added")
    func misfits() {
        var answers = LabelledAnswers(classes: 2)
        answers.take([1], right: 0, isTaken: false)
        answers.take([0.5, 0.5], right: 2, isTaken: false)
        answers.take([0.5, .nan], right: 0, isTaken: false)
        #expect(answers.count == 0)
    }

    @Test("confidences at a temperature are softmax(log p / T); NaN gives none")
    func applied() {
        // numpy: p = np.array([.7, .2, .1]); q = p**(1/2); q/q.sum()
        let expected: [Float] = [0.52287938, 0.27949079, 0.19762983]
        let found = [0.7, 0.2, 0.1].withUnsafeBufferPointer { Temperature.applied(2, to: $0) } ?? []
        for (found, expected) in zip(found, expected) { #expect(abs(found - expected) < 1e-5) }
        let none = [Float.nan, 1].withUnsafeBufferPointer { Temperature.applied(2, to: $0) }
        #expect(none == nil)
    }
}

extension LabelledAnswers {
    /// Adds an answer, and expects that it is taken or not.
    mutating func take(_ row: [Float], right: Int, isTaken: Bool = true) {
        let wasTaken = add(row, right: right)
        #expect(wasTaken == isTaken)
    }
}

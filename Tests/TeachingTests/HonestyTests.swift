import Foundation
import Teaching
import TestSupport
import Testing

/// Compares the evaluation of random classes with the accuracy on new examples of these classes.
@Suite struct HonestyTests {
    /// Classes as clouds around random centres.
    struct Clouds {
        let middles: [[Float]]
        let spread: Float

        init(classes: Int, dimension: Int, spread: Float, _ random: inout SplitMix) {
            middles = (0..<classes).map { _ in (0..<dimension).map { _ in Self.normal(&random) + 1 } }
            self.spread = spread
        }

        func example(of label: Int, _ random: inout SplitMix) -> [Float] {
            middles[label].map { $0 + spread * Self.normal(&random) }
        }

        func set(each: Int, _ random: inout SplitMix) throws -> ExampleSet {
            let classes = middles.indices.flatMap { [Int](repeating: $0, count: each) }
            return try #require(
                ExampleSet(
                    dimension: middles[0].count, labels: middles.indices.map { "class \($0)" },
                    rows: classes.map { example(of: $0, &random) }, classes: classes))
        }

        /// A normally distributed number: the sum of twelve uniformly distributed numbers.
        static func normal(_ random: inout SplitMix) -> Float {
            (0..<12).reduce(-6) { sum, _ in sum + Float.random(in: 0..<1, using: &random) }
        }
    }

    @Test(
        "the evaluated accuracy is that of new pictures on average, and its interval holds in most draws",
        arguments: [5, 20])
    func accuracyWithoutTheExampleIsThatOfNewPicturesOnAverage(each: Int) throws {
        var random = SplitMix(seed: 32 + UInt64(each))
        var differences: [Double] = [], held = 0, accuracies: [Double] = []
        let draws = LongTests.times(30, long: 200)
        for _ in 0..<draws {
            let clouds = Clouds(classes: 10, dimension: 32, spread: 1.5, &random)
            let set = try clouds.set(each: each, &random)
            let comparison = try #require(Evaluator.compare(set, current: .nearestMean))
            let evaluation = try #require(comparison.evaluations[comparison.preferred])
            let head = try #require(TaughtClassifier(comparison.preferred, set))
            var right = 0, asked = 0
            for label in clouds.middles.indices {
                for _ in 0..<100 {
                    right += try #require(head.answer(clouds.example(of: label, &random))).first == label ? 1 : 0
                    asked += 1
                }
            }
            let actual = Double(right) / Double(asked), told = try #require(evaluation.accuracy)
            let interval = try #require(evaluation.interval)
            differences.append(told - actual)
            accuracies.append(actual)
            if actual >= interval.low, actual <= interval.high { held += 1 }
        }
        let mean = differences.reduce(0, +) / Double(draws)
        print(
            "\(each) examples: accuracy \(accuracies.reduce(0, +) / Double(draws)), difference \(mean), held \(held) of \(draws)"
        )
        #expect(abs(mean) < 0.02)
        // A few draws determine a share of 90 % less exactly than 200 do.
        #expect(Double(held) / Double(draws) >= (draws >= 200 ? 0.9 : 0.8))
    }

    @Test(
        "where many classes overlap in few numbers, the accuracy of nearest means is estimated correctly",
        arguments: [3, 5, 20])
    func overlappingClassesAreNotToldToBeWorse(each: Int) throws {
        var random = SplitMix(seed: 64 + UInt64(each))
        var difference = 0.0
        let draws = each < 20 ? 120 : 30
        for _ in 0..<draws {
            let clouds = Clouds(classes: 15, dimension: 4, spread: 1.5, &random)
            let set = try clouds.set(each: each, &random)
            let told = try #require(Evaluator.evaluate(.nearestMean, set)?.accuracy)
            let head = try #require(TaughtClassifier(.nearestMean, set))
            var right = 0
            for label in clouds.middles.indices {
                for _ in 0..<40 where head.answer(clouds.example(of: label, &random))?.first == label { right += 1 }
            }
            difference += told - Double(right) / Double(40 * clouds.middles.count)
        }
        #expect(abs(difference / Double(draws)) < 0.02, "\(difference / Double(draws))")
    }

    @Test("with separable classes 95 percent of other pictures and at most 10 percent of members are rejected")
    func strangersAreFoundWhereClassesAreSeparable() throws {
        var random = SplitMix(seed: 5)
        let clouds = Clouds(classes: 8, dimension: 64, spread: 0.5, &random)
        let unknownPictures = Clouds(classes: 8, dimension: 64, spread: 0.5, &random)
        let set = try clouds.set(each: 20, &random)
        for method in TeachingMethod.classifiers {
            var head = try #require(TaughtClassifier(method, set))
            head.threshold = try #require(Evaluator.evaluate(method, set)).threshold
            var rejected = 0, found = 0
            for number in 0..<400 {
                let own = try #require(head.answer(clouds.example(of: number % 8, &random)))
                let other = try #require(head.answer(unknownPictures.example(of: number % 8, &random)))
                rejected += own.isKnown == false ? 1 : 0
                found += other.isKnown == false ? 1 : 0
            }
            print("\(method): \(rejected) of 400 rejected, \(found) of 400 strangers found")
            #expect(rejected <= 40)
            #expect(found >= 380)
        }
    }

    @Test("logistic regression is preferred where class means are not enough")
    func logisticRegressionIsPreferredWhereMeansAreNotEnough() throws {
        var random = SplitMix(seed: 9)
        // One number decides; the others are large and random.
        let classes = (0..<80).map { $0 / 40 }
        let rows = classes.map { label in
            (0..<12).map { Clouds.normal(&random) * ($0 == 0 ? 0.3 : 4) + ($0 == 0 ? Float(label) * 2 : 0) }
        }
        let set = try #require(ExampleSet(dimension: 12, labels: ["a", "b"], rows: rows, classes: classes))
        #expect(try #require(Evaluator.compare(set, current: .nearestMean)).preferred == .logistic)
    }

    @Test("nearest neighbors are preferred where each class has several clusters")
    func neighborsArePreferredWhereClassesHaveSeveralShapes() throws {
        var random = SplitMix(seed: 10)
        // Each class has two clouds on opposite sides.
        let corners: [(Float, Float, Int)] = [(1, 1, 0), (-1, -1, 0), (1, -1, 1), (-1, 1, 1)]
        let examples = corners.flatMap { x, y, label in
            (0..<20).map { _ in ([x + 0.2 * Clouds.normal(&random), y + 0.2 * Clouds.normal(&random)], label) }
        }.sorted { $0.1 < $1.1 }
        let set = try #require(
            ExampleSet(dimension: 2, labels: ["a", "b"], rows: examples.map(\.0), classes: examples.map(\.1)))
        #expect(try #require(Evaluator.compare(set, current: .nearestMean)).preferred == .nearestNeighbors)
    }

    @Test("advice names no class if every picture was recognized, otherwise the class with mistakes")
    func adviceNamesOnlyAClassThatNeedsIt() {
        func advice(_ correct: [Int]) -> String? {
            let classes = correct.enumerated().map {
                Evaluation.ClassResult(label: "class \($0)", examples: 5, tested: 5, correct: $1)
            }
            return Evaluation(
                method: .nearestMean, kind: .leaveOneOut, folds: 15, classes: classes, confusions: [], threshold: nil
            ).advice
        }
        #expect(advice([5, 5, 5])?.hasPrefix("every picture was recognized") == true)
        #expect(advice([5, 4, 5])?.contains("pictures of class 1 ") == true)
    }

    @Test(
        "an evaluation asks for each example whether to stop, and stops at once when cancelled",
        arguments: TeachingMethod.classifiers)
    func aCancelledEvaluationEndsAtOnce(_ method: TeachingMethod) throws {
        var random = SplitMix(seed: 7)
        let set = try Clouds(classes: 3, dimension: 8, spread: 1, &random).set(each: 40, &random)
        var asked = 0
        #expect(
            Evaluator.evaluate(
                method, set,
                isCancelled: {
                    asked += 1; return false
                }) != nil)
        // It is called for each of the 120 examples; otherwise a fold of a hundred thousand could not be stopped.
        #expect(asked >= 120)
        for last in [1, asked / 2, asked - 1] {
            var count = 0
            #expect(
                Evaluator.evaluate(
                    method, set,
                    isCancelled: {
                        count += 1; return count >= last
                    }) == nil)
            #expect(count == last, "asked again after it was told to end")
        }
    }
}

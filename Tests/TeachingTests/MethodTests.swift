import Foundation
import Teaching
import Testing

/// Compares methods, evaluation and intervals with scikit-learn and scipy. Tests/FixtureMakers/make-teaching-fixtures
/// wrote the inputs and the expected results.
@Suite struct MethodTests {
    @Test(
        "answers, distances and confidences equal those of scikit-learn",
        arguments: try! MethodFixture.load().cases, TeachingMethod.classifiers)
    func answersAreThoseOfScikitLearn(
        _ fixture: MethodFixture.Case, _ method: TeachingMethod
    ) throws {
        let expected = try #require(fixture.methods[method.rawValue])
        let head = try #require(TaughtClassifier(method, try fixture.set))
        let classes = head.labels.count
        for (number, query) in fixture.pieces(fixture.queries).enumerated() {
            let answer = try #require(head.answer(query))
            #expect(answer.first == expected.first[number])
            #expect(abs(Double(answer.distance) - expected.distances[number]) < 1e-5)
            for label in 0..<classes {
                let difference = Double(answer.confidences[label]) - expected.confidences[number * classes + label]
                #expect(abs(difference) < 1e-4, "\(fixture.name), \(method), query \(number), class \(label)")
            }
            #expect(abs(answer.confidences.reduce(0, +) - 1) < 1e-5)
        }
    }

    @Test(
        "the coefficients of logistic regression equal those of scikit-learn",
        arguments: try! MethodFixture.load().cases)
    func coefficientsAreThoseOfScikitLearn(
        _ fixture: MethodFixture.Case
    ) throws {
        let expected = try #require(fixture.methods["logistic"])
        let coefficients = try #require(expected.coefficients), intercepts = try #require(expected.intercepts)
        let head = try #require(TaughtClassifier(.logistic, try fixture.set))
        var weights = head.weights.map(Double.init), constants = head.intercepts.map(Double.init)
        if head.labels.count == 2 {
            weights = (0..<head.dimension).map { weights[head.dimension + $0] - weights[$0] }
            constants = [constants[1] - constants[0]]
        }
        #expect(weights.count == coefficients.count && constants.count == intercepts.count)
        for (found, wanted) in zip(weights + constants, coefficients + intercepts) {
            #expect(abs(found - wanted) < 1e-4)
        }
    }

    @Test(
        "evaluations equal those of scikit-learn without the tested examples",
        arguments: try! MethodFixture.load().cases, TeachingMethod.classifiers)
    func evaluationsAreThoseOfScikitLearnWithoutTheTestedExample(
        _ fixture: MethodFixture.Case, _ method: TeachingMethod
    ) throws {
        let expected = try #require(fixture.methods[method.rawValue]).evaluation
        let set = try fixture.set
        let found = try #require(Evaluator.evaluate(method, set))
        #expect(found.classes.map(\.correct) == expected.correct)
        #expect(found.examples == expected.tested)
        #expect(found.kind == (method == .logistic ? .tenFold : .leaveOneOut))
        #expect(abs(Double(try #require(found.threshold)) - expected.threshold) < 1e-5)
        let confusions = found.confusions.map { [$0.label, $0.answer, "\($0.count)"] }
        #expect(
            confusions == expected.confusions.prefix(10).map { [set.labels[$0[0]], set.labels[$0[1]], "\($0[2])"] })
    }

    @Test("with thousands of rows the mean directions equal the plain formula and do not vary")
    func manyRowsGiveTheMeansOfTheFormula() throws {
        let (dimension, count) = (512, 8_192)
        var state: UInt64 = 1
        let rows = (0..<count).map { _ in
            (0..<dimension).map { _ -> Float in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Float(state >> 40) / 16_777_216 - 0.3
            }
        }
        let classes = (0..<count).map { $0 < 3_000 ? 0 : 1 }
        let set = try #require(ExampleSet(dimension: dimension, labels: ["a", "b"], rows: rows, classes: classes))
        let head = try #require(TaughtClassifier(.nearestMean, set))
        var center = [Double](repeating: 0, count: dimension)
        for row in rows { for index in 0..<dimension { center[index] += Double(row[index]) / Double(count) } }
        for (index, value) in center.enumerated() { #expect(abs(Double(head.center[index]) - value) < 1e-6) }
        var sums = [[Double]](repeating: [Double](repeating: 0, count: dimension), count: 2)
        for (row, label) in zip(rows, classes) {
            let direction = (0..<dimension).map { Double(row[$0]) - Double(head.center[$0]) }
            let length = direction.reduce(0) { $0 + $1 * $1 }.squareRoot()
            for index in 0..<dimension { sums[label][index] += direction[index] / length }
        }
        for label in 0..<2 {
            let length = sums[label].reduce(0) { $0 + $1 * $1 }.squareRoot()
            for index in 0..<dimension {
                #expect(abs(Double(head.means[label * dimension + index]) - sums[label][index] / length) < 1e-5)
            }
        }
        #expect(TaughtClassifier(.nearestMean, set) == head)
    }

    @Test("confidence intervals of accuracies equal those of scipy")
    func intervalsAreThoseOfScipy() throws {
        for row in try MethodFixture.load().intervals {
            let found = try #require(WilsonInterval.of(Int(row[0]), of: Int(row[1])))
            #expect(abs(found.low - row[2]) < 1e-9 && abs(found.high - row[3]) < 1e-9)
        }
        #expect(WilsonInterval.of(0, of: 0) == nil)
    }

    @Test("an interval ends at exactly 1 if every answer is right, and at exactly 0 if all are wrong")
    func intervalsHoldTheirOwnAccuracy() throws {
        for count in 1...1_000 {
            let none = try #require(WilsonInterval.of(0, of: count))
            let all = try #require(WilsonInterval.of(count, of: count))
            #expect(none.low == 0 && none.high > 0 && all.low < 1 && all.high == 1, "\(count)")
        }
    }

    @Test("a model of a single class answers with confidence 1 and the distance to the mean")
    func oneClassAnswersWithTheDistanceToItsMean() throws {
        let set = try #require(
            ExampleSet(dimension: 2, labels: ["bolt"], rows: [[1, 0], [0, 1], [2, 2]], classes: [0, 0, 0]))
        for method in TeachingMethod.classifiers {
            let head = try #require(TaughtClassifier(method, set))
            let near = try #require(head.answer([3, 3])), far = try #require(head.answer([-1, -1]))
            #expect(near.confidences == [1] && near.first == 0)
            #expect(abs(near.distance) < 1e-6 && far.distance > 1.5)
        }
    }

    @Test("a class with a single example is answered but not tested")
    func oneExampleOfAClassIsEnoughAndIsNotTested() throws {
        let set = try #require(
            ExampleSet(dimension: 2, labels: ["bolt", "nut"], rows: [[1, 0], [0, 1]], classes: [0, 1]))
        for method in TeachingMethod.classifiers {
            #expect(try #require(TaughtClassifier(method, set)?.answer([0.1, 1])).first == 1)
            let evaluation = try #require(Evaluator.evaluate(method, set))
            #expect(evaluation.accuracy == nil && evaluation.interval == nil && evaluation.threshold == nil)
            #expect(evaluation.classes.map(\.accuracy) == [nil, nil])
        }
    }

    @Test("an embedding of a wrong length or with a non-finite number has no answer")
    func embeddingsThatDoNotFitHaveNoAnswer() throws {
        let set = try #require(ExampleSet(dimension: 2, labels: ["bolt"], rows: [[1, 0]], classes: [0]))
        let head = try #require(TaughtClassifier(.nearestMean, set))
        #expect(head.answer([1, 2, 3]) == nil)
        #expect(head.answer([1, .nan]) == nil)
        #expect(head.answer([.infinity, 1]) == nil)
        #expect(ExampleSet(dimension: 2, labels: ["bolt"], rows: [[1]], classes: [0]) == nil)
    }
}

struct MethodFixture: Decodable, Sendable {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let dimension: Int
        let classes: [Int]
        let rows: [Float]
        let queries: [Float]
        let methods: [String: Method]
        var testDescription: String { name }

        var set: ExampleSet {
            get throws {
                let labels = (0...(classes.max() ?? 0)).map { "class \($0)" }
                return try #require(
                    ExampleSet(dimension: dimension, labels: labels, rows: pieces(rows), classes: classes))
            }
        }

        func pieces(_ values: [Float]) -> [[Float]] {
            stride(from: 0, to: values.count, by: dimension).map { Array(values[$0..<$0 + dimension]) }
        }
    }

    struct Method: Decodable, Sendable {
        let confidences: [Double]
        let first: [Int]
        let distances: [Double]
        let coefficients: [Double]?
        let intercepts: [Double]?
        let evaluation: Tested
    }

    struct Tested: Decodable, Sendable {
        let correct: [Int]
        let tested: Int
        let threshold: Double
        let confusions: [[Int]]
    }

    let cases: [Case]
    let intervals: [[Double]]

    static func load() throws -> MethodFixture {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/methods.json")
        return try JSONDecoder().decode(MethodFixture.self, from: Data(contentsOf: file))
    }
}

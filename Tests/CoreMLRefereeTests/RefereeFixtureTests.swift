import CoreMLReferee
import FileFormats
import Foundation
import Testing

/// The referee's own answers, compared with those of scikit-learn, scipy and numpy
/// (Tests/FixtureMakers/coreml_fixtures/classical.py).
@Suite struct RefereeFixtureTests {
    @Test("the referee gives the reference program's outputs for every classical fixture", arguments: RefereeFile.all)
    func agrees(_ file: RefereeFile) throws {
        let referee = try file.referee
        let (cases, tolerance) = try file.cases()
        #expect(!cases.isEmpty)
        for (index, entry) in cases.enumerated() {
            var row: RefereeRow = [:]
            for input in referee.inputs {
                row[input.name] = try RefereeValue(try #require(entry.inputs[input.name]), input.kind)
            }
            let outputs = try referee.evaluate(row)
            for (name, expected) in entry.outputs {
                let found = try #require(outputs[name], "case \(index): no output \"\(name)\"")
                try Self.compare(found, expected, tolerance, "case \(index), \(name)")
            }
        }
    }

    private static func compare(
        _ found: RefereeValue, _ expected: Any, _ tolerance: Double, _ place: String
    ) throws {
        func close(_ a: Number, _ b: Double) -> Bool {
            // The probabilities of two classes differ between versions of libsvm by less than a hundredth.
            abs(a.value - b) <= tolerance * max(1, abs(b)) && a.slack <= 0.01 * max(1, abs(b))
        }
        switch found {
        case .number(let number): #expect(close(number, try #require(expected as? Double)), "\(place)")
        case .integer(let number): #expect(number == (expected as? NSNumber)?.int64Value, "\(place)")
        case .text(let text): #expect(Key.text(text) == (expected as? String).map { Key($0) }, "\(place)")
        case .array(let numbers):
            let values = RefereeValue.flat(expected)
            #expect(numbers.count == values.count && zip(numbers, values).allSatisfy(close), "\(place): \(numbers)")
        case .dictionary(let keys, let numbers):
            let values = try #require(expected as? [String: Double])
            #expect(Set(keys.map(\.description)) == Set(values.keys), "\(place)")
            for (key, number) in zip(keys, numbers) {
                let value = try #require(values[key.description])
                #expect(close(number, value), "\(place), \(key): \(number), expected \(value)")
            }
        case .label(let keys):
            let key = try (expected as? String).map { Key($0) } ?? .integer(try #require(expected as? Int64))
            // Of tied classes the first one is the best: that with the lower index.
            #expect(keys.first == key, "\(place)")
        case .unjudged(let reason): Issue.record("\(place): \(reason)")
        }
    }

    @Test(
        "files with a network, a program or suppression are impossible to judge, with that reason",
        arguments: [
            ("classical/suppression_pipeline.mlmodel", "non-maximum suppression"),
            ("product/colors.mlmodel", "neural networks"),
            ("product/program.mlpackage/Data/com.apple.CoreML/model.mlmodel", "ML Programs"),
        ])
    func othersAreImpossible(_ path: String, _ words: String) throws {
        let url = RefereeFile.folder.deletingLastPathComponent().appendingPathComponent(path)
        let bytes = [UInt8](try Data(contentsOf: url))
        do throws(ImpossibleJudgment) {
            _ = try CoreMLReferee(ByteSource(bytes))
            Issue.record("\(path) is judged")
        } catch {
            #expect(error.reason.contains(words), "\(error.reason)")
        }
    }
}

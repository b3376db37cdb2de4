import CoreMLImport
import Foundation
import Testing

/// Classical models and pipelines, compared with scikit-learn, scipy and numpy
/// (Tests/FixtureMakers/coreml_fixtures/classical.py).
@Suite struct ClassicalFixtureTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/coreml/classical")

    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".mlmodel") }.map { String($0.dropLast(8)) }.sorted()
    }()

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appendingPathComponent("\(name).mlmodel")))
    }

    @Test("the fixtures of classical models and pipelines cover every supported model type")
    func thereAreFixturesOfEveryType() throws {
        #expect(Self.names.count >= 60)
        var covered: Set<String> = []
        for name in Self.names {
            let data = try Data(contentsOf: Self.folder.appendingPathComponent("\(name).json"))
            let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            covered.formUnion(try #require(record["covers"] as? [String]))
        }
        let wanted: [ModelType] = [
            .pipelineClassifier, .pipelineRegressor, .pipeline, .glmRegressor, .supportVectorRegressor,
            .treeEnsembleRegressor, .glmClassifier, .supportVectorClassifier, .treeEnsembleClassifier,
            .kNearestNeighborsClassifier, .oneHotEncoder, .imputer, .featureVectorizer, .dictVectorizer, .scaler,
            .categoricalMapping, .normalizer, .arrayFeatureExtractor, .nonMaximumSuppression, .identity,
        ]
        for type in wanted { #expect(covered.contains(type.name), "\(type.name) has no fixture") }
    }

    @Test("a classical model gives the reference program's outputs within the fixture's tolerance", arguments: names)
    func agrees(_ name: String) throws {
        let specification = try ModelSpecification(Bytes(Self.bytes(name)))
        let steps = try ModelSteps(specification)
        let data = try Data(contentsOf: Self.folder.appendingPathComponent("\(name).json"))
        let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let tolerance = try #require(record["tolerance"] as? Double)
        let cases = try #require(record["cases"] as? [[String: Any]])
        #expect(!cases.isEmpty)
        for (index, entry) in cases.enumerated() {
            var inputs: FeatureTable = [:]
            let given = try #require(entry["inputs"] as? [String: Any])
            for input in specification.description.inputs {
                guard let value = given[input.name] else { continue }
                inputs[input.name] = try Self.feature(value, input.type)
            }
            var run = StepRun(steps, inputs: inputs)
            guard case .done = try run.advance() else {
                Issue.record("case \(index) asks for a graph")
                continue
            }
            for (output, expected) in try #require(entry["outputs"] as? [String: Any]) {
                let found = try #require(run.table[output], "case \(index): no output \"\(output)\"")
                let type = try #require(specification.description.outputs.first { $0.name == output }).type
                try Self.compare(found, Self.feature(expected, type), tolerance, "case \(index), \(output)")
            }
        }
    }

    static func feature(_ value: Any, _ type: FeatureType) throws -> FeatureData {
        switch type {
        case .double: return .double(try #require(value as? Double))
        case .int64: return .int64(try #require((value as? NSNumber)?.int64Value))
        case .string: return .string(try #require(value as? String))
        case .dictionary(let key):
            let entries = try #require(value as? [String: Double]).sorted { $0.key < $1.key }
            let keys: [CoreMLImport.Category] = try entries.map {
                key == .string ? .string($0.key) : .int64(try #require(Int64($0.key)))
            }
            return .dictionary(CategoryNumbers(keys: keys, values: entries.map(\.value)))
        case .multiArray:
            func flat(_ value: Any) -> [Double] {
                (value as? Double).map { [$0] } ?? (value as? [Any])?.flatMap(flat) ?? []
            }
            return .array(NumberArray(flat(value)))
        default:
            Issue.record("a feature of type \(type.name)")
            return .double(.nan)
        }
    }

    static func compare(
        _ found: FeatureData, _ expected: FeatureData, _ tolerance: Double, _ place: String
    ) {
        func close(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= tolerance * max(1, abs(b)) }
        switch (found, expected) {
        case (.double(let a), .double(let b)): #expect(close(a, b), "\(place): \(a), expected \(b)")
        case (.array(let a), .array(let b)):
            #expect(
                a.values.count == b.values.count && zip(a.values, b.values).allSatisfy(close),
                "\(place): \(a.values), expected \(b.values)")
        case (.dictionary(let a), .dictionary(let b)):
            let values = Dictionary(uniqueKeysWithValues: zip(a.keys, a.values))
            #expect(values.count == b.keys.count, "\(place): \(a), expected \(b)")
            for (key, value) in zip(b.keys, b.values) {
                #expect(values[key].map { close($0, value) } ?? false, "\(place): \(a), expected \(b)")
            }
        default: #expect(found == expected, "\(place)")
        }
    }
}

import CoreMLImport
import Foundation
import Testing

/// Every ML Program of Tests/Fixtures/coreml/programs: translated, run by the engine, and compared with numpy's answers.
@Suite struct ProgramFixtureTests {
    private static let fixtures = Fixture.all(in: "programs")

    /// The model and the weight file of a package.
    private func contents(of fixture: Fixture) throws -> (ModelSpecification, WeightFiles) {
        let folder = fixture.url.appendingPathComponent("Data/com.apple.CoreML")
        func bytes(_ path: String) throws -> Bytes {
            Bytes(try [UInt8](Data(contentsOf: folder.appendingPathComponent(path))))
        }
        let path = "weights/weight.bin"
        let files =
            FileManager.default.fileExists(atPath: folder.appendingPathComponent(path).path)
            ? [path: try bytes(path)] : [:]
        return (try ModelSpecification(bytes("model.mlmodel")), WeightFiles(files))
    }

    @Test(arguments: fixtures, [false, true])
    func computesWhatTheOracleComputes(fixture: Fixture, isFolded: Bool) throws {
        let (model, files) = try contents(of: fixture)
        let program = try ProgramTranslator(model.description, files: files).translate(model.reader)
        let runner = try GraphRunner(isFolded ? program.graph.folded() : program.graph)
        #expect(!fixture.cases.cases.isEmpty)
        for test in fixture.cases.cases {
            let results = try runner.run(test.inputs.arrays)
            if let classifier = program.classifier {
                let probabilities = try #require(results[classifier.probabilities]).values
                try check(
                    probabilities, of: classifier.labels, test.outputs, model.description, fixture.cases.tolerance)
                continue
            }
            for (name, expected) in test.outputs {
                guard case .array(let shape, let values) = expected else {
                    Issue.record("the answer \"\(name)\" is no array")
                    continue
                }
                let result = try #require(results[name], "the graph has no result \"\(name)\"")
                #expect(result.shape == shape, "\(name)")
                let error = difference(result.values, values)
                #expect(
                    error <= fixture.cases.tolerance, "\(name): \(result.values.prefix(12)), not \(values.prefix(12))")
            }
        }
    }

    private func check(
        _ probabilities: [Double], of labels: ClassLabels, _ expected: [String: Fixture.Value],
        _ description: ModelDescription, _ tolerance: Double
    ) throws {
        let texts =
            switch labels {
            case .strings(let strings): strings
            case .integers(let integers): integers.map(String.init)
            }
        #expect(texts.count == probabilities.count)
        guard case .dictionary(let known) = expected[description.predictedProbabilitiesName] else {
            Issue.record("the answer has no probabilities")
            return
        }
        for (text, probability) in zip(texts, probabilities) {
            #expect(abs(probability - (known[text] ?? .infinity)) <= tolerance, "\(text)")
        }
        let best = try #require(zip(texts, probabilities).max { $0.1 < $1.1 }).0
        switch expected[description.predictedFeatureName] {
        case .text(let text): #expect(text == best)
        case .number(let number): #expect(String(Int(number)) == best)
        default: Issue.record("the answer has no label")
        }
    }

    /// What is claimed is what is tested.
    @Test func everyOperationHasAFixture() {
        let covered = Set(Self.fixtures.flatMap(\.cases.covers))
        let missing = Set(ProgramOperationNames.all).subtracting(covered)
        #expect(missing.isEmpty, "no fixture has \(missing.sorted())")
        #expect(covered.isSubset(of: ProgramOperationNames.all), "\(covered.subtracting(ProgramOperationNames.all))")
    }
}

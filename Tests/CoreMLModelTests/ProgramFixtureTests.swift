import CoreMLImport
import Foundation
import TestSupport
import Testing

/// Every ML Program of Tests/Fixtures/coreml/programs: translated, run by the engine, and compared with numpy's
/// outputs.
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

    @Test(
        "an ML Program gives the answers of its fixture, with and without folding",
        arguments: LongTests.every(3, of: fixtures), [false, true])
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
                    Issue.record("the answer \"\(name)\" is not an array")
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

    /// With open extents, which requests choose, a program gives the same results for the default size as with fixed
    /// ones.
    @Test("an ML Program with open extents takes the size of the request")
    func openExtentsTakeTheSizeOfTheRequest() throws {
        let fixture = try #require(Self.fixtures.first { $0.url.lastPathComponent == "open_shapes.mlpackage" })
        let (model, files) = try contents(of: fixture)
        let program = try ProgramTranslator(model.description, files: files, opensExtents: true).translate(model.reader)
        #expect(program.graph.parameters.first?.shape == [2, nil, nil])
        let runner = try GraphRunner(program.graph)
        let test = try #require(fixture.cases.cases.first)
        for (name, result) in try runner.run(test.inputs.arrays) {
            guard case .array(let shape, let values)? = test.outputs[name] else {
                Issue.record("there is no answer \"\(name)\"")
                continue
            }
            #expect(result.shape == shape, "\(name)")
            #expect(difference(result.values, values) <= fixture.cases.tolerance, "\(name)")
        }
        // The formulas of the fixture, for another size.
        let values = (0..<112).map { Double($0) / 8 }
        let results = try runner.run(["x": GraphRunner.Array(shape: [2, 7, 8], values: values)])
        #expect(results["flat"] == GraphRunner.Array(shape: [2, 56], values: values))
        let added = values.enumerated().map { $1 + 1 + Double($0 % 8) }
        #expect(results["added"] == GraphRunner.Array(shape: [2, 7, 8], values: added))
    }

    private func check(
        _ probabilities: [Double], of labels: ClassLabels, _ expected: [String: Fixture.Value],
        _ description: InterfaceSpecification, _ tolerance: Double
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

    /// Exactly the supported operations have fixtures.
    @Test("every supported operation of ML Programs has a fixture")
    func everyOperationHasAFixture() {
        let covered = Set(Self.fixtures.flatMap(\.cases.covers))
        let missing = Set(ProgramOperationNames.all).subtracting(covered)
        #expect(missing.isEmpty, "no fixture has \(missing.sorted())")
        #expect(covered.isSubset(of: ProgramOperationNames.all), "\(covered.subtracting(ProgramOperationNames.all))")
    }
}

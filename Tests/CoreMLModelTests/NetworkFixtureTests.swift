import CoreMLImport
import TestSupport
import Testing

/// Every network of Tests/Fixtures/coreml/networks: translated, run by the engine, and compared with another program's
/// outputs.
@Suite struct NetworkFixtureTests {
    @Test(
        "a neural network gives the answers of its fixture, with and without folding",
        arguments: LongTests.every(4, of: Fixture.all(in: "networks")), [false, true])
    func computesWhatTheOracleComputes(fixture: Fixture, isFolded: Bool) throws {
        let model = try ModelSpecification(fixture.bytes())
        let network = try NeuralNetwork(model.reader)
        // The inputs of these fixtures are sequences, although the description declares the shape of one step.
        let takesSequences = fixture.testDescription.contains("/steps-")
        let translated = try NetworkTranslator.translate(network, model.description, takesSequences: takesSequences)
        let runner = try GraphRunner(isFolded ? translated.graph.folded() : translated.graph)
        #expect(!fixture.cases.cases.isEmpty)
        for test in fixture.cases.cases {
            let inputs = scaled(test.inputs.arrays, translated.scalers, model.description)
            let results = try runner.run(inputs)
            for (name, expected) in test.outputs {
                let result = try #require(results[name], "the graph has no result \"\(name)\"")
                guard case .array(let shape, let values) = expected else {
                    Issue.record("the answer \"\(name)\" is not an array")
                    continue
                }
                #expect(result.shape == shape, "\(name)")
                let error = difference(result.values, values)
                #expect(
                    error <= fixture.cases.tolerance, "\(name): \(result.values.prefix(12)), not \(values.prefix(12))")
            }
        }
    }

    /// Scales images like the server, before the graph.
    private func scaled(
        _ inputs: [String: GraphRunner.Array], _ scalers: [String: ImageScaler], _ description: InterfaceSpecification
    ) -> [String: GraphRunner.Array] {
        var inputs = inputs
        for feature in description.inputs {
            guard case .image(let image) = feature.type, let scaler = scalers[feature.name],
                let pixels = inputs[feature.name]
            else { continue }
            let biases = scaler.biases(image.colorSpace)
            let plane = pixels.values.count / biases.count
            inputs[feature.name]?.values = pixels.values.enumerated().map { index, value in
                Double(scaler.channelScale) * value + Double(biases[index / plane])
            }
        }
        return inputs
    }
}

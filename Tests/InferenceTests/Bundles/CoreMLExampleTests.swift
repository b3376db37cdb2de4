import Foundation
import Inference
import TestSupport
import Testing

/// Core ML files with `import Inference`, under Core ML's names, as in the package Tests/Consumer.
@Suite struct CoreMLExampleTests {
    private static let examples = SharedData.packageRoot.appendingPathComponent("examples/coreml")

    @Test("a Core ML file predicts under its own feature names, with scikit-learn's probability")
    func aCoreMLFilePredictsUnderCoreMLsNames() async throws {
        let path = Self.examples.appendingPathComponent("Kickstarter.mlmodel").path
        let model = try await Model.load(contentsOf: path, configuration: ModelConfiguration())
        let project: DictionaryFeatureProvider = [
            "goal": .double(15_000), "backersCount": .double(20), "duration": .double(30),
        ]
        let prediction = try await model.prediction(from: project)
        guard case .string(let state)? = prediction.featureValue(for: "state"),
            case .dictionary(let odds)? = prediction.featureValue(for: "classProbability")
        else {
            Issue.record("\(prediction.featureNames)")
            return
        }
        #expect(state == "failed")
        // The value that scikit-learn computes: Tests/Fixtures/coreml/product/expected.json.
        let successful = odds.first { $0.label == "successful" }?.value ?? 0
        #expect(abs(successful - 8.603486614185387e-09) < 1e-15)
    }
}

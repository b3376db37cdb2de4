import Inference

/// Predictions of a Core ML file for numbers, on Linux, under Core ML's names.
func predictProject(goal: Double, backers: Double, days: Double, with path: String) async throws -> String {
    let model = try await Model.load(contentsOf: path, configuration: ModelConfiguration())
    let project: DictionaryFeatureProvider = [
        "goal": .double(goal), "backersCount": .double(backers), "duration": .double(days),
    ]
    let prediction = try await model.prediction(from: project)
    guard case .string(let state)? = prediction.featureValue(for: "state") else { return "" }
    return state
}

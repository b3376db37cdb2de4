/// The outcome of one of several predictions, with its index.
///
/// A structure that a method creates, although a tuple created in the task's closure would suffice: Swift 6.3's
/// optimizer returns garbage for tuples that contain a `Result` with a typed error and come from a child task's closure
/// with `do throws`.
struct IndexedOutcome: Sendable {
    let index: Int
    let result: Result<Prediction, InferenceError>
}

extension Model {
    /// Runs the model once; a failure is returned as a value.
    func outcome(
        of features: any FeatureProvider, at index: Int, options: PredictionOptions
    ) async -> IndexedOutcome {
        do throws(InferenceError) {
            let prediction = try await prediction(from: AnyFeatureProvider(base: features), options: options)
            return IndexedOutcome(index: index, result: .success(prediction))
        } catch {
            return IndexedOutcome(index: index, result: .failure(error))
        }
    }
}

/// A concrete type for any feature provider.
struct AnyFeatureProvider: FeatureProvider {
    let base: any FeatureProvider
    var featureNames: [String] { base.featureNames }
    func featureValue(for name: String) -> FeatureValue? { base.featureValue(for: name) }
}

/// The outcome of one of several predictions, with its index.
///
/// A structure made by a method, where a tuple made in the task's closure would do: Swift 6.3's optimizer hands on
/// garbage for tuples that hold a `Result` with a typed error and come from a child task's closure with `do throws`.
struct IndexedOutcome: Sendable {
    let index: Int
    let result: Result<Prediction, InferenceError>
}

extension Model {
    /// Runs the model once; the failure is a value.
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

/// A feature provider whose type is not known, as a value with a type.
struct AnyFeatureProvider: FeatureProvider {
    let base: any FeatureProvider
    var featureNames: [String] { base.featureNames }
    func featureValue(for name: String) -> FeatureValue? { base.featureValue(for: name) }
}

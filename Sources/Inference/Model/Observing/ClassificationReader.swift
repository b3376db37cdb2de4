internal import ImagePipeline
internal import Observations

/// Reads the best classes out of a classifier's labelled output, or those whose vectors are nearest to its embedding.
struct ClassificationReader: Sendable {
    let source: Source
    let labels: [String]
    let top: Int, threshold: Float
    /// The error of an answer without a picture.
    let noImage: InferenceError
    let watch: ScoreWatch

    enum Source: Sendable {
        case scores(output: Int, name: String, ScoreReader)
        case embedding(ObservationPlan, EmbeddingClasses)
    }

    func result(
        in outputs: any EngineOutputs, image: ImageInfo?, times: StageTimes
    ) throws(InferenceError) -> ClassificationResult {
        let (best, areConfidences) = try best(in: outputs)
        guard let image else { throw noImage }
        return ClassificationResult(
            classifications: best.map { entry in
                Classification(
                    index: entry.index, label: entry.index < labels.count ? labels[entry.index] : "",
                    confidence: entry.score)
            },
            image: image, times: times, areConfidences: areConfidences)
    }

    /// The best classes, and whether their scores are confidences.
    private func best(
        in outputs: any EngineOutputs
    ) throws(InferenceError) -> (classes: [(index: Int, score: Float)], areConfidences: Bool) {
        switch source {
        case .scores(let output, let name, let scores):
            return try outputs.reading(output) { (_, raw) throws(InferenceError) in
                scores.withScores(raw) { values in
                    // What an activation makes of logits needs no look.
                    let areConfidences = scores.activation != nil || watch.areConfidences(values, output: name)
                    return (select(values, areConfidences), areConfidences)
                }
            }
        case .embedding(let plan, let classes):
            return try plan.withTensors(of: outputs) { (tensors) throws(InferenceError) in
                guard let tensor = tensors["output"]?.first else { return ([], true) }
                return (classes.probabilities(tensor.values).withUnsafeBufferPointer { select($0, true) }, true)
            }
        }
    }

    /// A threshold is a confidence: other scores may be anything, and so may those that round to less than 0.
    private func select(
        _ scores: UnsafeBufferPointer<Float>, _ areConfidences: Bool
    ) -> [(index: Int, score: Float)] {
        TopK.select(scores, count: top, threshold: areConfidences && threshold > 0 ? threshold : -.infinity)
    }
}

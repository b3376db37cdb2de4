internal import ImagePipeline
internal import Observations

/// Reads the best classes out of a classifier's labelled output, or those whose vectors are nearest to its embedding.
struct ClassificationReader: Sendable {
    private let source: Source
    private let labels: [String]
    private let top: Int, threshold: Float
    private let noImage: InferenceError
    private let watch: ScoreWatch

    private enum Source: Sendable {
        case scores(output: Int, name: String, ScoreReader)
        case embedding(ObservationPlan, EmbeddingClasses)
    }

    /// - Throws: where the model is not an image classifier.
    init(_ model: Model, top: Int, threshold: Float) throws(InferenceError) {
        let name = model.description.name
        guard let labels = model.description.classLabels else {
            throw .unsupported(
                model: name,
                reason: "has no output with labels: \(model.abilities)")
        }
        if let output = model.plan.outputs.first(where: { $0.description.labels != nil }) {
            source = .scores(
                output: output.index, name: output.description.name,
                ScoreReader(
                    elementType: output.scoreType, linear: output.linear, activation: output.activation))
        } else if let plan = model.observations.first(where: \.output.classifies),
            case .embedding(_, let classes?) = plan.output.kind
        {
            source = .embedding(plan, classes)
        } else {
            throw .unsupported(
                model: name,
                reason: "has no output with labels: \(model.abilities)")
        }
        noImage = .unsupported(
            model: name,
            reason: "does not take one image: it cannot classify, but it can predict\(model.reasonForTensors)")
        guard model.description.imageInput != nil else { throw noImage }
        self.labels = labels
        watch = model.scoreWatch
        self.top = top
        self.threshold = threshold
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
            return try Model.output(output, of: outputs) { (_, raw) throws(InferenceError) in
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

extension Model {
    /// The values that are missing for a picture's classes, as text to be put behind a sentence; empty if there is a
    /// model.json.
    package var reasonForTensors: String { provenance?.explanation.map { ": \($0)" } ?? "" }
}

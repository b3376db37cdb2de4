internal import ImagePipeline

/// Reads the best classes out of a classifier's labelled output.
struct ClassificationReader: Sendable {
    private let index: Int
    private let labels: [String]
    private let scores: ScoreReader
    private let top: Int, threshold: Float
    private let noImage: InferenceError

    /// - Throws: where the model is no image classifier.
    init(_ model: Model, top: Int, threshold: Float) throws(InferenceError) {
        guard let output = model.plan.outputs.first(where: { $0.description.labels != nil }),
            let labels = output.description.labels
        else {
            throw .unsupported(
                model: model.description.name,
                reason: "has no output with labels: it cannot classify, but it can predict\(model.reasonForTensors)")
        }
        noImage = .unsupported(
            model: model.description.name,
            reason: "does not take one image: it cannot classify, but it can predict\(model.reasonForTensors)")
        guard model.description.imageInput != nil else { throw noImage }
        index = output.index
        self.labels = labels
        scores = ScoreReader(
            elementType: output.scoreType, linear: output.linear, activation: output.activation)
        self.top = top
        self.threshold = threshold
    }

    func result(
        in outputs: any EngineOutputs, image: ImageInfo?, times: StageTimes
    ) throws(InferenceError) -> ClassificationResult {
        let best = try Model.output(index, of: outputs) { (_, raw) throws(InferenceError) in
            scores.withScores(raw) { TopK.select($0, count: top, threshold: threshold) }
        }
        guard let image else { throw noImage }
        return ClassificationResult(
            classifications: best.map { entry in
                Classification(
                    index: entry.index, label: entry.index < labels.count ? labels[entry.index] : "",
                    confidence: entry.score)
            },
            image: image,
            times: times)
    }
}

extension Model {
    /// What is missing for a picture's classes, to be put behind a sentence; empty where there is a model.json.
    package var reasonForTensors: String { provenance?.explanation.map { ": \($0)" } ?? "" }
}

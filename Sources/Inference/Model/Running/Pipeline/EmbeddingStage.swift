package import FlowControl
internal import Observations

/// A stage with a taught model that gives the embeddings of its crops instead of taught classes.
struct EmbeddingStage: Sendable {
    let stage: Pipeline.Stage
    /// True if only the detection with the largest box is wanted.
    let isForLargest: Bool

    /// - Parameter embedder: the model that sees the crops.
    init(_ stage: Pipeline.Stage, by embedder: Model, isForLargest: Bool) {
        var description = stage.description
        description.task = .embed
        // These are for classes.
        (description.top, description.threshold) = (nil, nil)
        self.stage = Pipeline.Stage(description: description, model: embedder, each: [])
        self.isForLargest = isForLargest
    }

    /// The wanted detections: of those that the stage runs on all, or the largest; of equally large ones the first.
    func detections(among found: [ObservationResult.Found]) -> [ObservationResult.Found] {
        let found = found.filter { stage.applies(to: $0) }
        guard isForLargest else { return found }
        return found.max { $0.box.width * $0.box.height < $1.box.width * $1.box.height }.map { [$0] } ?? []
    }
}

extension Model {
    /// A pipeline's detections in one picture that a stage with a taught model runs on, each with the embedding of its
    /// crop as the stage's answer. No other stage runs.
    /// - Parameters:
    ///   - embedder: the model that sees the crops.
    ///   - isForLargest: whether to return the largest detection only.
    ///   - slot: a slot that the caller holds.
    package func embeddings(
        of image: EncodedImage, at stage: Pipeline.Stage, by embedder: Model, isForLargest: Bool = false,
        options: PredictionOptions, slot: Slot
    ) async -> Result<ObservationResult, InferenceError> {
        var request = pipelineRequest(ObservationRequest(task: .detect), options, TaughtStages(), slot)
        request.embedding = EmbeddingStage(stage, by: embedder, isForLargest: isForLargest)
        let asked = request
        let results = await outcomes(of: [image], in: slot) { (image) throws(InferenceError) in
            try await asked.result(image)
        }
        return results.first ?? .failure(.unsupported(model: description.name, reason: "gives no result"))
    }
}

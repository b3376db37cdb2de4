internal import Calibration
package import FlowControl
package import Teaching

extension Model {
    /// Creates the reader of a request's classes.
    /// - Parameters:
    ///   - head: taught classes that replace the model's own, for a model that computes embeddings.
    ///   - labels: those of the request, which replace all others.
    ///   - options: whether results have the certainty of the classes, and the coverage of the sets of a calibrated
    ///     model; other models make no sets.
    /// - Throws: if the model is not an image classifier.
    func classificationReader(
        top: Int, threshold: Float, head: TaughtClassifier? = nil, labels: LabelClasses? = nil,
        options: PredictionOptions = PredictionOptions()
    ) throws(InferenceError) -> ClassificationReader {
        guard let classes = labels?.classes ?? head.map(taughtClasses) ?? builtInClasses else {
            throw .unsupported(
                model: description.name,
                reason: "has no output with \(head == nil ? "labels" : "an embedding"): \(abilities)")
        }
        guard takesOnePicture else { throw noImage }
        return ClassificationReader(
            classes: classes, top: top, threshold: threshold, measures: options.measures, coverage: options.coverage)
    }

    /// The reason why the model's classes cannot be calibrated, as text that follows a subject; nil if they can.
    package var obstacleToCalibration: String? {
        guard pipeline == nil, reader == nil, words == nil else {
            return "runs several networks: calibrate a classifier with labels of its own"
        }
        return plan.obstacleToCalibration
    }

    /// The least confidence above 0 that the model's output can express, for its calibration.
    package var leastConfidence: Float {
        guard case .scores(_, _, let scores)? = builtInClasses?.source else { return .leastNonzeroMagnitude }
        return scores.leastConfidence
    }

    /// The error for an answer without a picture.
    var noImage: InferenceError { .noImage(of: description.name, reasonForTensors) }

    /// A model's own classes; nil if it has none of its own.
    static func classes(
        _ description: ModelDescription, _ plan: ModelPlan, _ observations: [ObservationPlan],
        _ provenance: ModelProvenance?, _ watch: ScoreWatch, _ calibration: ClassifierCalibration?
    ) -> ClassificationReader.Classes? {
        guard let labels = description.classLabels else { return nil }
        let noImage = InferenceError.noImage(of: description.name, reasonForTensors(provenance))
        func classes(_ source: ClassificationReader.Source) -> ClassificationReader.Classes {
            .init(source, labels, noImage: noImage, watch: watch, calibration: calibration)
        }
        if let output = plan.outputs.first(where: { $0.description.labels != nil }) {
            let scores = ScoreReader(
                elementType: output.scoreType, linear: output.linear, activation: output.activation)
            return classes(.scores(output: output.index, name: output.description.name, scores))
        }
        guard let plan = observations.first(where: \.output.classifies),
            case .embedding(_, let compared?) = plan.output.kind
        else { return nil }
        switch compared {
        case .vectors(let vectors): return classes(.embedding(plan, vectors))
        case .taught(let head): return classes(.taught(plan, head))
        }
    }

    /// Classes that were taught with this model's embeddings; nil if it computes no embeddings.
    private func taughtClasses(_ head: TaughtClassifier) -> ClassificationReader.Classes? {
        observations.first { $0.output.task == .embed }.map { plan in
            .init(.taught(plan, head), head.labels, noImage: noImage, watch: scoreWatch)
        }
    }

    /// Classifies one picture by classes that were taught with this model's embeddings.
    package func classification(
        of image: EncodedImage, top: Int, threshold: Float = 0, options: PredictionOptions = PredictionOptions(),
        slot: Slot? = nil, head: TaughtClassifier
    ) async throws(InferenceError) -> ClassificationResult {
        if patchHead(head) != nil {
            let held = try await admit(slot, options)
            defer { leave(held, given: slot) }
            return try await classifications(of: [image], byPatches: head, options: options, slot: held)[0].get()
        }
        let reader = try classificationReader(top: top, threshold: threshold, head: head)
        return try await classification(of: image, by: reader, options: options, slot: slot)
    }

    /// The classes that the bundle's `taught` names; nil for other models.
    package var taughtClassifier: TaughtClassifier? {
        guard plan.outputs.allSatisfy({ $0.description.labels == nil }),
            case .taught(_, let head)? = builtInClasses?.source
        else { return nil }
        return head
    }

    /// The reason a picture has no classes, as text to append to a sentence; empty if the model has a model.json.
    package var reasonForTensors: String { Self.reasonForTensors(provenance) }

    private static func reasonForTensors(_ provenance: ModelProvenance?) -> String {
        provenance?.explanation.map { ": \($0)" } ?? ""
    }
}

extension InferenceError {
    fileprivate static func noImage(of model: String, _ reason: String) -> InferenceError {
        .unsupported(
            model: model, reason: "does not take one image: it cannot classify, but it can predict\(reason)")
    }
}

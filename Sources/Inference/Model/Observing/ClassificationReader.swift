internal import Calibration
internal import ImagePipeline
internal import Observations
internal import Teaching

/// Reads the best classes from a classifier's labelled output, or from an embedding.
struct ClassificationReader: Sendable {
    let classes: Classes
    let top: Int, threshold: Float
    /// True if results have the certainty of the classes.
    var measures = false
    /// The coverage of the set of labels; nil for no set.
    var coverage: Coverage?

    /// The classes and their source. A class, because the model has one instance, while every request has a reader.
    final class Classes: Sendable {
        let source: Source
        let labels: [String]
        /// The error for an answer without a picture.
        let noImage: InferenceError
        let watch: ScoreWatch
        /// For each label true if its text was cut; empty if the labels are not embedded texts.
        let areTruncated: [Bool]
        /// The calibration of the scores; nil if the classes have none.
        let calibration: ClassifierCalibration?

        init(
            _ source: Source, _ labels: [String], areTruncated: [Bool] = [], noImage: InferenceError, watch: ScoreWatch,
            calibration: ClassifierCalibration? = nil
        ) {
            self.calibration = calibration
            self.areTruncated = areTruncated
            self.source = source
            self.labels = labels
            self.noImage = noImage
            self.watch = watch
        }

        /// Throws `invalidOutput` if a score of the classes is not a number.
        func check(_ outputs: any EngineOutputs) throws(InferenceError) {
            guard case .scores(let output, let name, let scores) = source else { return }
            let best = try outputs.reading(output) { (_, raw) throws(InferenceError) in
                scores.withScores(raw) { TopK.select($0, count: 1, threshold: -.infinity) }
            }
            if best == nil { throw scores.notNumbers(name) }
        }
    }

    enum Source: Sendable {
        case scores(output: Int, name: String, ScoreReader)
        case embedding(ObservationPlan, EmbeddingClasses)
        case taught(ObservationPlan, TaughtClassifier)
    }

    /// The best classes of an output.
    private struct Best {
        var classes: [(index: Int, score: Float)] = []
        /// The cosines of all classes; empty if the classes are no vectors.
        var similarities: [Float] = []
        var areConfidences = true
        var taught: TaughtMark?
        var certainty: Certainty?
        /// The indices of the classes of the set; nil for no set.
        var set: [Int]?
    }

    func result(
        in outputs: any EngineOutputs, image: ImageInfo?, times: StageTimes
    ) throws(InferenceError) -> ClassificationResult {
        let best = try best(in: outputs)
        guard let image else { throw classes.noImage }
        let labels = classes.labels
        var result = ClassificationResult(
            classifications: best.classes.map { entry in
                var classification = Classification(
                    index: entry.index, label: entry.index < labels.count ? labels[entry.index] : "",
                    confidence: entry.score)
                guard classes.areTruncated.indices.contains(entry.index) else { return classification }
                classification.isTruncated = classes.areTruncated[entry.index]
                if best.similarities.indices.contains(entry.index) {
                    classification.similarity = best.similarities[entry.index]
                }
                return classification
            },
            image: image, times: times, areConfidences: best.areConfidences, taught: best.taught)
        result.certainty = best.certainty
        result.set = best.set.map { $0.map { labels.indices.contains($0) ? labels[$0] : "" } }
        return result
    }

    private func best(in outputs: any EngineOutputs) throws(InferenceError) -> Best {
        switch classes.source {
        case .scores(let output, let name, let scores):
            return try outputs.reading(output) { (_, raw) throws(InferenceError) in
                if let calibration = classes.calibration {
                    return try scores.withScores(raw) { calibrated(calibration, $0, output: name, scores) }.get()
                }
                let best = scores.withScores(raw) { values -> Best? in
                    // The results of an activation are confidences without a check.
                    let areConfidences = scores.activation != nil || classes.watch.areConfidences(values, output: name)
                    return select(values, areConfidences).map {
                        Best(
                            classes: $0, areConfidences: areConfidences,
                            certainty: areConfidences ? certainty(values) : nil)
                    }
                }
                guard let best else { throw scores.notNumbers(name) }
                return best
            }
        case .embedding(let plan, let classes):
            let vector = try plan.withEmbedding(of: outputs) { (decoder, tensor) throws(ObservationError) in
                try decoder.vector(tensor)
            }
            guard let similarities = (vector ?? []).withUnsafeBufferPointer(classes.similarities) else {
                throw .notNumbers(plan.output.name)
            }
            let confidences = classes.confidences(similarities)
            guard let best = select(confidences, true) else { throw .notNumbers(plan.output.name) }
            return Best(
                classes: best, similarities: similarities,
                certainty: confidences.withUnsafeBufferPointer(certainty))
        case .taught(let plan, let head):
            let embedding = try plan.withEmbedding(of: outputs) { (decoder, tensor) throws(ObservationError) in
                try decoder.embedding(tensor)
            }
            return try answer(of: head, to: embedding ?? [], output: plan.output.name)
        }
    }

    /// The best classes and the set of a calibrated classifier.
    private func calibrated(
        _ calibration: ClassifierCalibration, _ values: UnsafeBufferPointer<Float>, output: String,
        _ scores: ScoreReader
    ) -> Result<Best, InferenceError> {
        guard
            let confidences = Temperature.applied(
                calibration.temperature, to: values, floor: scores.leastConfidence),
            let best = select(confidences, true)
        else { return .failure(scores.notNumbers(output)) }
        guard scores.activation != nil || classes.watch.areConfidences(values, output: output) else {
            let reason =
                "its scores are not confidences from 0 to 1, so that \(ClassifierCalibration.fileName) does not apply to them"
            return .failure(.invalidOutput(name: output, reason: reason))
        }
        return .success(
            Best(
                classes: best, certainty: confidences.withUnsafeBufferPointer(certainty),
                set: coverage.map { calibration.set($0, of: values) }))
    }

    /// Classifies an embedding as `/embed` returns it, because the classes were taught with such embeddings.
    private func answer(
        of head: TaughtClassifier, to embedding: [Float], output: String
    ) throws(InferenceError) -> Best {
        guard embedding.count == head.dimension else {
            let reason = "it has \(embedding.count) numbers; its classes were taught with \(head.dimension)"
            throw .engine(EngineError(kind: .failure, operation: "classify an embedding", detail: reason))
        }
        guard let answer = head.answer(embedding), let best = select(answer.confidences, true) else {
            throw .notNumbers(output)
        }
        let anomaly = answer.anomaly.map {
            AnomalyMark(score: $0.score, threshold: $0.threshold, p: $0.p, isAnomaly: $0.isAnomaly)
        }
        return Best(
            classes: best,
            taught: TaughtMark(distance: answer.distance, isKnown: answer.isKnown, anomaly: anomaly),
            certainty: answer.confidences.withUnsafeBufferPointer(certainty))
    }

    private func certainty(_ confidences: UnsafeBufferPointer<Float>) -> Certainty? {
        measures ? Certainty(confidences) : nil
    }

    private func select(_ scores: [Float], _ areConfidences: Bool) -> [(index: Int, score: Float)]? {
        scores.withUnsafeBufferPointer { select($0, areConfidences) }
    }

    /// Selects the best scores; nil if one is NaN. The threshold applies to confidences above 0: other scores have any
    /// range, and confidences may round to less than 0.
    private func select(
        _ scores: UnsafeBufferPointer<Float>, _ areConfidences: Bool
    ) -> [(index: Int, score: Float)]? {
        TopK.select(scores, count: top, threshold: areConfidences && threshold > 0 ? threshold : -.infinity)
    }
}

extension InferenceError {
    /// The error for an embedding that has no direction because a number is not finite.
    fileprivate static func notNumbers(_ output: String) -> InferenceError {
        .invalidOutput(name: output, reason: ObservationError.notNumbers(role: "embedding").message)
    }
}

internal import Teaching

extension Model {
    /// - Parameter head: classes for a model that embeds pictures, in place of its own.
    /// - Throws: where the model is not an image classifier.
    func classificationReader(
        top: Int, threshold: Float, head: TaughtHead? = nil
    ) throws(InferenceError) -> ClassificationReader {
        let name = description.name
        let noImage = InferenceError.unsupported(
            model: name,
            reason: "does not take one image: it cannot classify, but it can predict\(reasonForTensors)")
        guard let (source, labels) = head.map(taughtSource) ?? ownSource else {
            throw .unsupported(
                model: name, reason: "has no output with \(head == nil ? "labels" : "an embedding"): \(abilities)")
        }
        guard description.imageInput != nil else { throw noImage }
        return ClassificationReader(
            source: source, labels: labels, top: top, threshold: threshold, noImage: noImage, watch: scoreWatch)
    }

    /// The model's own classes, and where they come from; nil if it has none.
    private var ownSource: (ClassificationReader.Source, [String])? {
        guard let labels = description.classLabels else { return nil }
        if let output = plan.outputs.first(where: { $0.description.labels != nil }) {
            let scores = ScoreReader(
                elementType: output.scoreType, linear: output.linear, activation: output.activation)
            return (.scores(output: output.index, name: output.description.name, scores), labels)
        }
        guard let plan = observations.first(where: \.output.classifies), case .embedding(let normalization, let classes?) = plan.output.kind else { return nil }
        switch classes {
        case .vectors(let vectors): return (.embedding(plan, vectors), labels)
        case .taught(let head): return (.taught(plan, normalization, head), labels)
        }
    }

    /// Classes that were taught with this model's embeddings; nil if it has none.
    private func taughtSource(_ head: TaughtHead) -> (ClassificationReader.Source, [String])? {
        for plan in observations {
            if case .embedding(let normalization, _) = plan.output.kind { return (.taught(plan, normalization, head), head.labels) }
        }
        return nil
    }

    /// The classes that the bundle's `taught` names; nil for other models.
    package var taughtHead: TaughtHead? {
        guard plan.outputs.allSatisfy({ $0.description.labels == nil }), case .taught(_, _, let head)? = ownSource?.0 else { return nil }
        return head
    }

    /// The values that are missing for a picture's classes, as text to be put behind a sentence; empty if there is a
    /// model.json.
    package var reasonForTensors: String { provenance?.explanation.map { ": \($0)" } ?? "" }
}

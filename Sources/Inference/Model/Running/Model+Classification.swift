extension Model {
    /// - Throws: where the model is not an image classifier.
    func classificationReader(top: Int, threshold: Float) throws(InferenceError) -> ClassificationReader {
        let name = description.name
        let source: ClassificationReader.Source
        guard let labels = description.classLabels else {
            throw .unsupported(
                model: name,
                reason: "has no output with labels: \(abilities)")
        }
        if let output = plan.outputs.first(where: { $0.description.labels != nil }) {
            source = .scores(
                output: output.index, name: output.description.name,
                ScoreReader(
                    elementType: output.scoreType, linear: output.linear, activation: output.activation))
        } else if let plan = observations.first(where: \.output.classifies),
            case .embedding(_, let classes?) = plan.output.kind
        {
            source = .embedding(plan, classes)
        } else {
            throw .unsupported(
                model: name,
                reason: "has no output with labels: \(abilities)")
        }
        let noImage = InferenceError.unsupported(
            model: name,
            reason: "does not take one image: it cannot classify, but it can predict\(reasonForTensors)")
        guard description.imageInput != nil else { throw noImage }
        return ClassificationReader(
            source: source, labels: labels, top: top, threshold: threshold, noImage: noImage, watch: scoreWatch)
    }

    /// The values that are missing for a picture's classes, as text to be put behind a sentence; empty if there is a
    /// model.json.
    package var reasonForTensors: String { provenance?.explanation.map { ": \($0)" } ?? "" }
}

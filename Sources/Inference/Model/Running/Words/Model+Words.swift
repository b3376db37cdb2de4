internal import Observations

/// Texts, and pictures classified by labels that come with a request.
extension Model {
    /// True if it embeds texts.
    package var embedsTexts: Bool { words != nil }

    /// True if it classifies pictures by labels that a request gives.
    package var takesLabels: Bool { words?.scoring != nil }

    /// The error for texts; nil if the model embeds them.
    package var refusalOfTexts: InferenceError? {
        words == nil ? .unsupported(model: description.name, reason: "does not embed texts: \(abilities)") : nil
    }

    /// The error for labels of a request; nil if the model takes them.
    package var refusalOfLabels: InferenceError? {
        guard let words else {
            return .unsupported(
                model: description.name, reason: "takes no labels: it does not embed texts; \(abilities)")
        }
        guard words.description.takesPictures else {
            return .unsupported(
                model: description.name, reason: "takes no labels: it embeds texts alone, not pictures; \(abilities)")
        }
        guard words.scoring == nil else { return nil }
        return .unsupported(
            model: description.name,
            reason: "cannot classify: its files do not state the scale of its similarities; set \"zero_shot\": "
                + "{\"scale\": …} in model.json (CLIP: 100)")
    }

    /// Embeds texts, in order; vectors that are known are not computed again. Waits for slots of the text side: the
    /// caller holds none of them.
    /// - Throws: `unsupported` if the model embeds no texts; `invalidInput` for a text that the tokenizer refuses; as
    ///   for predictions.
    package func textEmbeddings(
        of texts: [String], options: PredictionOptions = PredictionOptions()
    ) async throws(InferenceError) -> TextEmbeddings {
        if let refusalOfTexts { throw refusalOfTexts }
        guard let words else { return TextEmbeddings(embeddings: [], times: StageTimes()) }
        defer { used() }
        return try await words.side.embeddings(of: texts, options: options.forTexts)
    }

    /// The classes of a request that brings its labels (``LabelList`` has their rules), for
    /// ``classifications(of:top:threshold:options:slot:head:labels:)``. The vectors of several prompts are averaged as
    /// CLIP's authors do: unit vectors, their mean, brought to length 1.
    /// - Parameter prompts: the texts around the labels; nil for the model's own.
    /// - Throws: `unsupported` if the model takes no labels; as ``textEmbeddings(of:options:)``.
    package func classes(
        of labels: [String], prompts: [Prompt]? = nil, options: PredictionOptions = PredictionOptions()
    ) async throws(InferenceError) -> LabelClasses {
        if let refusalOfLabels { throw refusalOfLabels }
        guard let words, let scoring = words.scoring, let plan = observations.first(where: { $0.output.task == .embed })
        else { throw .unsupported(model: description.name, reason: "takes no labels: \(abilities)") }
        defer { used() }
        let made = try await words.side.vectors(
            of: labels, prompts ?? words.description.zeroShot.prompts, options: options.forTexts)
        guard let vectors = EmbeddingClasses(vectors: made.vectors, dimension: words.dimension, scoring: scoring) else {
            throw .invalidOutput(name: plan.output.name, reason: "the vector of a label has no direction")
        }
        let classes = ClassificationReader.Classes(
            .embedding(plan, vectors), labels, areTruncated: made.areTruncated, noImage: noImage, watch: scoreWatch)
        return LabelClasses(labels: labels, classes: classes, times: made.times)
    }
}

/// The labels of a request as classes of a model.
package struct LabelClasses: Sendable {
    package let labels: [String]
    let classes: ClassificationReader.Classes
    /// The times of the labels' texts.
    package let times: StageTimes
}

extension PredictionOptions {
    /// The options without a decoded picture.
    fileprivate var forTexts: PredictionOptions {
        var options = self
        (options.keeps, options.decoded) = (nil, nil)
        return options
    }
}

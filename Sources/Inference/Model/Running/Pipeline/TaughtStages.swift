package import Teaching

/// The taught models that answer the stages of one request, each with one view, so that an answer never mixes two.
package struct TaughtStages: Sendable {
    /// A taught model's part in a request.
    package enum Part: Sendable {
        /// The model that embeds the crops, the classes that were taught with its embeddings, and the state with the
        /// examples, of one view.
        case ready(embedder: Model, head: TaughtClassifier, state: TaughtState)
        case absent(TaughtAbsence)
    }

    private var parts: [String: Part] = [:]

    /// No taught models, as in commands.
    package init() {}

    /// The part of a taught model, by its name.
    package subscript(name: String) -> Part {
        get { parts[name] ?? .absent(.unknownHere(name)) }
        set { parts[name] = newValue }
    }
}

/// The model that answers a stage in one request.
struct StageModel: Sendable {
    let model: Model
    /// The taught classes that replace the model's own; nil for a stage without a taught model.
    var head: TaughtClassifier?

    /// The number of classes.
    var classCount: Int { (head?.labels ?? model.description.classLabels)?.count ?? 1 }
}

extension Pipeline.Stage {
    /// The model that answers the stage.
    /// - Parameter taught: the taught models of the request.
    func answering(_ taught: TaughtStages) throws(TaughtAbsence) -> StageModel {
        if let model { return StageModel(model: model) }
        switch taught[description.model] {
        case .ready(let embedder, let head, _): return StageModel(model: embedder, head: head)
        case .absent(let absence): throw absence
        }
    }
}

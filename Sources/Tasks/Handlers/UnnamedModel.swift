internal import Inference
package import Repository
package import WireFormats

/// The model for a request that names none.
package enum UnnamedModel: Sendable {
    /// None: the route needs a name.
    case refused
    /// The default model for a purpose.
    case usual(DefaultModel.Purpose)
    /// The first of some names that a model has; the models fit a purpose.
    /// - Parameter absence: the message if no model has one of the names.
    case first([String], DefaultModel.Purpose, absence: String)
    /// The configured default model, the only model, or the default for the first purpose that has one.
    case any

    /// True if a model can answer a request that names none.
    func fits(_ model: Model) -> Bool {
        switch self {
        case .usual(.classification), .first(_, .classification, _): model.isImageClassifier
        case .usual(.task(let task)), .first(_, .task(let task), _): model.tasks.contains(task)
        case .usual(.texts), .first(_, .texts, _): model.embedsTexts
        case .usual(.labels), .first(_, .labels, _): model.takesLabels
        case .refused, .any: true
        }
    }

    /// The name of the model.
    /// - Parameter configured: the setting `default_model`; empty without one.
    package func name(in repository: ModelRepository, configured: String) throws(ServiceError) -> String {
        switch self {
        case .refused: throw ServiceError(.modelNotFound, "name a model in the path; /v1/models lists the models")
        case .usual(let purpose):
            switch repository.defaultModel(for: purpose, configured: configured) {
            case .model(let name, _): return name
            case .undecided(let name):
                throw ServiceError(
                    .modelNotFound,
                    "no default model: the model.json of \"\(name)\" has values to decide (\"$decide\"), so name the model "
                        + "in the path or the query, or finish model.json (`ocelli check` lists the values)")
            case .none:
                // Labels may come with the form, or the error says how to give them.
                if purpose == .classification,
                    case .model(let name, _) = repository.defaultModel(for: .labels, configured: configured)
                {
                    return name
                }
                throw ServiceError(.modelNotFound, purpose.absence)
            }
        case .first(let names, _, let absence):
            let present = repository.names
            guard let name = names.first(where: present.contains) else { throw ServiceError(.modelNotFound, absence) }
            return name
        case .any:
            guard configured.isEmpty else { return configured }
            let names = repository.names
            if names.count == 1, let name = names.first { return name }
            for purpose in [DefaultModel.Purpose.classification] + ObservationTask.allCases.map({ .task($0) }) {
                if case .model(let name, isAvailable: true) = repository.defaultModel(for: purpose) { return name }
            }
            throw ServiceError(
                .modelNotFound, "no model is the default here: set default_model; /v1/models lists the models")
        }
    }
}

extension DefaultModel.Purpose {
    /// The message if there is no such model.
    fileprivate var absence: String {
        switch self {
        case .classification:
            "no model is an image classifier (one image input, one output with labels): name a model in the path, "
                + "/v1/models/{name}/predict; /v1/models lists the models"
        case .texts:
            "no model embeds texts: put the folder of one, as published, into the folder of models (docs/words.md); "
                + "/v1/models lists the models"
        case .labels:
            "no model classifies by labels of a request: put the folder of one for pictures and texts, such as CLIP, into the "
                + "folder of models (docs/words.md); /v1/models lists the models"
        case .task(.read):
            "no model reads text: a reader is a text detector, a recognizer and, if it has one, a classifier of direction, as "
                + "one bundle (model.json, \"reader\") or as a folder of the files that RapidOCR, PaddleOCR or PaddleX publish "
                + "(docs/model-json.md, \"Readers\"): put one into the folder of models; /v1/models lists the models"
        case .task(let task):
            "no model gives \(task.gives): a bundle declares it by an output of type \"\(task.outputType)\"; "
                + "/v1/models lists the models"
        }
    }
}

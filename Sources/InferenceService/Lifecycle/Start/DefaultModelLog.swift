internal import Inference
internal import Repository
internal import ServiceCore
internal import Settings

/// Logs the default model.
enum DefaultModelLog {
    /// Warns if `default_model` does not exist. This is not an error: the other models are served, and a reload may add
    /// it.
    static func warn(_ settings: Settings, _ known: [String], _ log: Log) {
        let name = settings.defaultModel
        guard !name.isEmpty, !known.contains(name) else { return }
        log.warning(
            "default_model: unknown model \"\(name)\" (available: \(known.sorted().joined(separator: ", "))); "
                + "/v1/classify answers 404 until it exists")
    }

    /// Logs the model that `/v1/classify` uses.
    static func tell(_ repository: ModelRepository, _ settings: Settings, _ log: Log) {
        let what =
            switch repository.defaultModel(for: .classification, configured: settings.defaultModel) {
            case .model(let name, isAvailable: true): "the model \(name)"
            case .undecided(let name): "no model: the model.json of \(name) has values to decide"
            case .model, .none: labels(repository, settings)
            }
        log.info("/v1/classify uses \(what)")
    }

    /// The model for requests with labels, if no model has labels of its own.
    private static func labels(_ repository: ModelRepository, _ settings: Settings) -> String {
        guard
            case .model(let name, isAvailable: true) = repository.defaultModel(
                for: .labels, configured: settings.defaultModel)
        else { return "no model: no image classifier is ready" }
        return "the model \(name), for requests with labels"
    }

    /// Fixes the model of `/v1/classify` if no setting names it, so that an added model does not change it. Logs a
    /// change if the model is gone and another takes its place.
    static func resolve(_ repository: ModelRepository, _ settings: Settings, _ log: Log) {
        guard let change = repository.resolveDefault(), settings.defaultModel.isEmpty else { return }
        log.warning(
            "/v1/classify now uses \(change.now.map { "the model \($0)" } ?? "no model"), no longer \(change.before), "
                + "which is not available; set default_model to choose one")
    }
}

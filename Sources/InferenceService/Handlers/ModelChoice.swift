internal import FlowControl
internal import Inference
internal import Settings
internal import SystemSupport

/// The model that a request runs, as it was chosen when the request's head came.
struct ModelChoice: Sendable {
    /// The name that it is served under.
    let name: String
    /// Nil for the highest.
    let version: String?
    /// The model, where it was ready then. Weak: a client that sends its body slowly does not keep a model in memory that a reload
    /// has replaced or that was unloaded.
    weak let ready: Model?
    /// True if the request names it.
    let isNamed: Bool
    /// The client's, for slots.
    let claim: Claim

    /// The model of then, or the one that has its name now; waits for one that is being loaded.
    /// - Parameter deadline: until when.
    func model(in repository: ModelRepository, deadline: MonotonicInstant?) async throws(ServiceError) -> Model {
        if let ready { return ready }
        do throws(InferenceError) {
            return try await repository.model(named: name, version: version, deadline: deadline)
        } catch {
            throw ServiceError(error)
        }
    }

    /// The same for routes that need not name a model. A lazy model may turn out to do something else when it is loaded: where the request
    /// does not name it, the next one is used.
    /// - Parameters:
    ///   - fits: whether a model does what the route is for.
    ///   - next: the name of the model that is the default now.
    func model(
        in repository: ModelRepository, deadline: MonotonicInstant?, fits: (Model) -> Bool,
        next: () throws(ServiceError) -> String
    ) async throws(ServiceError) -> (model: Model, name: String) {
        var choice = self
        var model = try await choice.model(in: repository, deadline: deadline)
        while !isNamed, !fits(model) {
            let name = try next()
            guard name != choice.name else { break }
            choice = ModelChoice(name: name, version: nil, ready: nil, isNamed: false, claim: claim)
            model = try await choice.model(in: repository, deadline: deadline)
        }
        return (model, choice.name)
    }
}

extension ModelRepository {
    /// The model that a classify route without a name means. Where no classifier can be asked, one that is unloaded or has failed, so
    /// that the answer is a 503 that says so.
    func defaultName(_ settings: Settings) throws(ServiceError) -> String {
        if !settings.defaultModel.isEmpty { return settings.defaultModel }
        if let name = defaultClassifier ?? unavailableClassifier { return name }
        try checkDecided(nil)
        throw ServiceError(
            .modelNotFound,
            "no model is an image classifier (one image input, one output with labels): name a model in the path, "
                + "/v1/models/{name}/predict; /v1/models lists the models"
        )
    }

    /// The same for the routes that find things. A default model that does something else stands back for one that does this.
    func defaultName(for task: ObservationTask, _ settings: Settings) throws(ServiceError) -> String {
        if let name = defaultModel(for: task, preferring: settings.defaultModel) ?? unavailableModel(for: task) {
            return name
        }
        try checkDecided(task)
        throw ServiceError(
            .modelNotFound,
            "no model gives \(task.gives): a bundle declares it by an output of type \"\(task.outputType)\"; "
                + "/v1/models lists the models")
    }

    /// Says so where the only model of a kind is one whose model.json is not finished.
    private func checkDecided(_ task: ObservationTask?) throws(ServiceError) {
        guard let name = undecidedModel(for: task) else { return }
        throw ServiceError(
            .modelNotFound,
            "no default model: the model.json of \"\(name)\" has values to decide (\"$decide\"), so name the model "
                + "in the path or the query, or finish model.json (`ocelli check` lists the values)")
    }
}

internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Settings
internal import SystemSupport

/// The model that a request runs, as it was chosen when the request's head came.
struct ModelChoice: Sendable {
    /// The name that it is served under.
    let name: String
    /// Nil for the highest.
    let version: String?
    /// The model, where it was ready then. Weak: a client that sends its body slowly does not keep a model in memory
    /// that a reload has replaced or that was unloaded.
    weak let ready: Model?
    /// True if the request names it.
    let isNamed: Bool
    /// The client's, for slots.
    let claim: Claim
    /// The taught models, where it is one of them; `ready` is then its embedder.
    var taught: TaughtModels?
    /// Its part in the model's rollout; nil if it has none.
    var route: RolloutRoute?
    /// The model that computes the answer, where that is settled.
    private(set) var settledOn: Settled?

    /// A model with its files as they were loaded and all stages of a pipeline; and of a taught one its state.
    struct Settled: Sendable {
        let model: Model
        var taught: TaughtRun?
    }

    /// The same choice, settled on what computes the answer whatever serves meanwhile; nil if that is not known yet: of
    /// a model that is to be loaded first, and of an earlier version of a taught one.
    func settled() -> ModelChoice? {
        var choice = self
        if let taught {
            guard version == nil, let run = taught.readyRun(name) else { return nil }
            choice.settledOn = Settled(model: run.embedder, taught: run)
        } else {
            guard let ready else { return nil }
            choice.settledOn = Settled(model: ready)
        }
        return choice
    }

    /// The same for the version that serves, where the candidate was chosen.
    var serving: ModelChoice {
        ModelChoice(name: name, version: version, ready: nil, isNamed: isNamed, claim: claim, route: nil)
    }

    /// Computes the answer to a request.
    typealias Work = @Sendable (HTTPRequest, ModelChoice) async throws(ServiceError) -> HTTPResponse

    /// Answers a request, or gives it the answer of an equal one by the same version. Where the candidate was chosen
    /// for it and gives an error that is no fault of the request, the version that serves answers; if it can, the
    /// candidate is out. Where it does not answer in time, no time is left for the other; it is out if that is usual.
    func answer(
        _ request: HTTPRequest, _ sharing: SharedPredictions.Scope?, work: @escaping Work
    ) async throws(ServiceError) -> HTTPResponse {
        var request = request
        do throws(ServiceError) {
            return if let sharing { try await sharing.answer(to: &request, by: self, compute: counted(work)) } else {
                try await counted(work)(request, self)
            }
        } catch {
            guard let route, route.isShare else { throw error }
            if error.isLateInference { route.candidateWasLate(began: request.bodyReceived) }
            guard error.status == .internalServerError else { throw error }
            let response = try await work(request, serving)
            route.candidateErred(error.message)
            return response
        }
    }

    /// The same work, after which the candidate has answered its share: an answer that was kept says nothing about it.
    private func counted(_ work: @escaping Work) -> Work {
        guard let route, route.isShare else { return work }
        return { (request, choice) async throws(ServiceError) in
            let response = try await work(request, choice)
            route.candidateAnswered()
            return response
        }
    }

    /// The model of then, or the one that has its name now; waits for one that is being loaded.
    /// - Parameter deadline: until when.
    func model(in repository: ModelRepository, deadline: MonotonicInstant?) async throws(ServiceError) -> Model {
        if let model = settledOn?.model ?? ready { return model }
        do throws(InferenceError) {
            return try await repository.model(named: name, version: version, deadline: deadline)
        } catch {
            throw ServiceError(error)
        }
    }

    /// The same for routes that need not name a model. A lazy model may turn out to do something else when it is
    /// loaded: where the request does not name it, the next one is used.
    /// - Parameters:
    ///   - fits: whether a model does what the route is for.
    ///   - next: the name of the model that is the default now.
    func model(
        in repository: ModelRepository, deadline: MonotonicInstant?, fits: (Model) -> Bool,
        next: () throws(ServiceError) -> String
    ) async throws(ServiceError) -> (model: Model, name: String) {
        if let ready, isNamed || fits(ready) { return (ready, name) }
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
    /// The name of the model that a route means which names none.
    func defaultName(
        for purpose: DefaultModel.Purpose = .classification, _ settings: Settings
    ) throws(ServiceError) -> String {
        switch defaultModel(for: purpose, configured: settings.defaultModel) {
        case .model(let name, _): return name
        case .undecided(let name):
            throw ServiceError(
                .modelNotFound,
                "no default model: the model.json of \"\(name)\" has values to decide (\"$decide\"), so name the model "
                    + "in the path or the query, or finish model.json (`ocelli check` lists the values)")
        case .none: throw ServiceError(.modelNotFound, purpose.absence)
        }
    }
}

extension DefaultModel.Purpose {
    /// The message where no model is for it.
    fileprivate var absence: String {
        switch self {
        case .classification:
            "no model is an image classifier (one image input, one output with labels): name a model in the path, "
                + "/v1/models/{name}/predict; /v1/models lists the models"
        case .task(let task):
            "no model gives \(task.gives): a bundle declares it by an output of type \"\(task.outputType)\"; "
                + "/v1/models lists the models"
        }
    }
}

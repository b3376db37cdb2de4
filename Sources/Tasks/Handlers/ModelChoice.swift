package import FlowControl
package import HTTPServer
internal import HTTPWire
package import Inference
package import Repository
package import Settings
package import SystemSupport
package import WireFormats

/// The model that a request runs, as chosen when the request's head arrived.
package struct ModelChoice: Sendable {
    /// The name under which the model is served.
    package let name: String
    /// The requested version; nil for the highest.
    package let version: String?
    /// The model, if it was ready then. Weak: a client that sends its body slowly must not keep a model in memory that
    /// was unloaded or replaced by a reload.
    package weak let ready: Model?
    /// True if the request names the model.
    package let isNamed: Bool
    /// The client's claim on slots.
    package let claim: Claim
    /// The taught models, if `name` is one of them; `ready` is then its embedder.
    package var taught: TaughtModels?
    /// The request's part in the model's rollout; nil if it has none.
    package var route: RolloutRoute?
    /// The model that computes the answer; nil until it is known.
    private(set) var settledOn: Settled?

    // Wide: a record, in the order of its fields.
    package init(
        name: String, version: String?, ready: Model?, isNamed: Bool, claim: Claim, taught: TaughtModels? = nil,
        route: RolloutRoute? = nil, settledOn: Settled? = nil
    ) {
        self.name = name
        self.version = version
        self.ready = ready
        self.isNamed = isNamed
        self.claim = claim
        self.taught = taught
        self.route = route
        self.settledOn = settledOn
    }

    /// A loaded model with its files and all stages of a pipeline; for a taught model also its state.
    package struct Settled: Sendable {
        let model: Model
        var taught: TaughtRun?
    }

    /// The choice, bound to the version that computes the answer; nil if that is not known yet: for a model that must
    /// be loaded first, and for an earlier version of a taught model.
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

    /// The choice of the serving version, for a request that was assigned to the candidate.
    var serving: ModelChoice {
        ModelChoice(name: name, version: version, ready: nil, isNamed: isNamed, claim: claim, route: nil)
    }

    /// Computes the answer to a request.
    package typealias Work = @Sendable (HTTPRequest, ModelChoice) async throws(ServiceError) -> HTTPResponse

    /// Answers a request, or shares the answer of an equal one by the same version.
    ///
    /// If a request assigned to the candidate fails with a 500, the serving version answers it; if that succeeds, the
    /// error is reported to the rollout, which ends the candidate. A late answer of the candidate leaves no time for
    /// the serving version; it is reported too, and ends the candidate if it is usual.
    package func answer(
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

    /// The work, followed by a report that the candidate has answered one of its requests. A cached answer is not
    /// reported, because it says nothing about the candidate.
    private func counted(_ work: @escaping Work) -> Work {
        guard let route, route.isShare else { return work }
        return { (request, choice) async throws(ServiceError) in
            let response = try await work(request, choice)
            route.candidateAnswered()
            return response
        }
    }

    /// The chosen model, or the one that has its name now; waits while it is loaded.
    /// - Parameter deadline: the end of the wait; nil for no limit.
    package func model(in repository: ModelRepository, deadline: MonotonicInstant?) async throws(ServiceError) -> Model
    {
        if let model = settledOn?.model ?? ready { return model }
        do throws(InferenceError) {
            return try await repository.model(named: name, version: version, deadline: deadline)
        } catch {
            throw ServiceError(error)
        }
    }

    /// Like ``model(in:deadline:)``, for routes on which the name is optional. After loading, a lazy model may turn out
    /// not to fit; if the request does not name it, the next default model is used.
    /// - Parameters:
    ///   - fits: whether a model fits the route.
    ///   - next: the name of the current default model.
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
    /// The name of the model for a request that names none.
    package func defaultName(
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
    /// The message if there is no such model.
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

package import FlowControl
package import HTTPServer
internal import HTTPWire
package import Inference
package import Repository
internal import ServiceCore
internal import Settings
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
    package private(set) var taught: TaughtModels?
    /// True if the stages of a pipeline run, so that their taught models are needed.
    private let runsStages: Bool
    /// The request's part in the model's rollout; nil if it has none.
    package private(set) var route: RolloutRoute?
    /// The model that computes the answer; nil until it is known.
    private(set) var resolution: Chosen?
    /// Nanoseconds that the request has waited for its model to be loaded.
    package var loadWait: UInt64 = 0

    private init(name: String, version: String?, isNamed: Bool, claim: Claim, runsStages: Bool) {
        self.name = name
        self.runsStages = runsStages
        self.version = version
        self.isNamed = isNamed
        self.claim = claim
        ready = nil
    }

    /// Chooses the model of a request. Throws if there is no model of that name, or if its queue is full.
    package init(for prediction: PredictionCall, _ shadows: Shadows) throws(ServiceError) {
        let call = prediction.call, repository = call.parts.repository, version = prediction.version
        let isNamed = !prediction.name.isEmpty
        let name =
            isNamed
            ? prediction.name
            : try prediction.unnamed.name(in: repository, configured: call.live.settings.defaultModel)
        let ready: Model?
        if let taught = call.parts.taught, taught.owns(name) {
            guard prediction.answersTaughtModels else { throw taught.refusal(name) }
            ready = try taught.check(try taught.find(name), version: version)
            self.taught = taught
        } else {
            let route = version == nil ? shadows.route(name, call) : nil
            do throws(InferenceError) {
                let asked = route.flatMap { $0.isShare ? $0.candidate : nil } ?? version
                ready = try repository.readyModel(named: name, version: asked)
            } catch {
                throw ServiceError(error)
            }
            self.route = route
        }
        if let refusal = ready?.limiter.announce(claim: call.claim) { throw ServiceError(refusal) }
        self.name = name
        self.version = version
        self.ready = ready
        self.isNamed = isNamed
        claim = call.claim
        runsStages = prediction.runsStages
    }

    /// A loaded model with its files and all stages of a pipeline; for a taught model also its state.
    struct Chosen: Sendable {
        let model: Model
        /// The name under which the model is served.
        let name: String
        /// The taught model with this embedder; nil for other models.
        var taught: TaughtSnapshot?
        /// The taught models of a pipeline's stages; nil until they are taken.
        var stages: BoundStages?
        /// Nanoseconds that the request has waited for the model to be loaded.
        var loadWait: UInt64 = 0
    }

    /// The choice, bound to the version that computes the answer; nil if that is not known yet: for a model that must
    /// be loaded first, also as the embedder of a pipeline's stage, and for an earlier version of a taught model.
    /// - Parameter models: the taught models; nil if teaching is turned off.
    func resolved(with models: TaughtModels?) -> ModelChoice? {
        var choice = self
        if let taught {
            guard version == nil, let run = taught.readyRun(name) else { return nil }
            choice.resolution = Chosen(model: run.embedder, name: run.name, taught: run)
        } else {
            guard let ready else { return nil }
            var chosen = Chosen(model: ready, name: name)
            if runsStages, let models, let pipeline = ready.pipeline {
                guard let stages = models.readyStages(of: pipeline) else { return nil }
                chosen.stages = stages
            }
            choice.resolution = chosen
        }
        return choice
    }

    /// The choice of the serving version, for a request that was assigned to the candidate.
    var serving: ModelChoice {
        ModelChoice(name: name, version: version, isNamed: isNamed, claim: claim, runsStages: runsStages)
    }

    /// Computes the answer to a request.
    package typealias Work = @Sendable (HTTPRequest, ModelChoice) async throws(ServiceError) -> HTTPResponse

    /// Answers a request, or shares the answer of an equal one by the same version.
    ///
    /// If a request assigned to the candidate fails with a 500, the serving version answers it; if that succeeds, the
    /// error is reported to the rollout, which ends the candidate. A late answer of the candidate leaves no time for
    /// the serving version; it is reported too, and ends the candidate if it is usual.
    /// - Parameter sharing: nil for a prediction that answers only a part of the request.
    package func answer(
        _ request: HTTPRequest, of prediction: PredictionCall, sharing: SharedPredictions?
    ) async throws(ServiceError) -> HTTPResponse {
        var request = request
        do throws(ServiceError) {
            let work = counted(prediction.answer)
            guard let sharing else { return try await work(request, self) }
            return try await sharing.answer(&request, of: prediction, by: self, compute: work)
        } catch {
            guard let route, route.isShare else { throw error }
            if error.isLateInference { route.candidateWasLate(began: request.bodyReceived) }
            guard error.status == .internalServerError else { throw error }
            let response = try await prediction.answer(request, serving)
            route.candidateReturnedError(error.message)
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
    /// - Returns: the model, and the nanoseconds that the request has waited for it.
    package func model(
        in repository: ModelRepository, deadline: MonotonicInstant?
    ) async throws(ServiceError) -> (model: Model, wait: UInt64) {
        if let model = resolution?.model ?? ready { return (model, loadWait) }
        let start = MonotonicInstant.now
        do throws(InferenceError) {
            let model = try await repository.model(named: name, version: version, deadline: deadline)
            return (model, loadWait &+ MonotonicInstant.now.nanoseconds(since: start))
        } catch {
            throw ServiceError(error)
        }
    }

    /// Like ``model(in:deadline:)``, for routes on which the name is optional, for taught models, and with the taught
    /// models of a pipeline's stages.
    func model(
        for call: Call, or unnamed: UnnamedModel, until deadline: MonotonicInstant?
    ) async throws(ServiceError) -> Chosen {
        var chosen = try await fitting(for: call, or: unnamed, until: deadline)
        guard runsStages, let pipeline = chosen.model.pipeline, let models = call.parts.taught else { return chosen }
        if let resolution, resolution.model === chosen.model {
            chosen.stages = resolution.stages
        } else {
            let start = MonotonicInstant.now
            chosen.stages = BoundStages(parts: try await models.stages(of: pipeline, deadline: deadline))
            chosen.loadWait &+= MonotonicInstant.now.nanoseconds(since: start)
        }
        return chosen
    }

    /// After loading, a lazy model may turn out not to fit; if the request does not name it, the next default model is
    /// used.
    private func fitting(
        for call: Call, or unnamed: UnnamedModel, until deadline: MonotonicInstant?
    ) async throws(ServiceError) -> Chosen {
        if let taught {
            if let run = resolution?.taught { return Chosen(model: run.embedder, name: run.name, taught: run) }
            let start = MonotonicInstant.now
            let run = try await taught.run(name, version: version, deadline: deadline)
            return Chosen(
                model: run.embedder, name: run.name, taught: run,
                loadWait: MonotonicInstant.now.nanoseconds(since: start))
        }
        if let ready, isNamed || unnamed.fits(ready) { return Chosen(model: ready, name: name) }
        let repository = call.parts.repository
        var choice = self
        var (model, wait) = try await choice.model(in: repository, deadline: deadline)
        while !isNamed, !unnamed.fits(model) {
            let name = try unnamed.name(in: repository, configured: call.live.settings.defaultModel)
            guard name != choice.name else { break }
            choice = ModelChoice(name: name, version: nil, isNamed: false, claim: claim, runsStages: runsStages)
            choice.loadWait = wait
            (model, wait) = try await choice.model(in: repository, deadline: deadline)
        }
        return Chosen(model: model, name: choice.name, loadWait: wait)
    }
}

internal import Dialects
internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
package import ServiceCore
internal import ServicePlanning
internal import Settings
internal import Tasks
internal import WireFormats

/// The table of routes, with the decision of each route when a request's head has arrived. The decision captures the
/// current settings, the query and the model, so that an answer never mixes two configurations.
///
/// A wrong query, a model that does not exist and a model with a full queue are refused here, before the client sends
/// the body. Health checks of load balancers are answered here, on the event loop: requests in progress do not delay
/// them, and a task would double their cost.
extension Service {
    /// A request for a resource.
    package struct Call: Sendable {
        let service: Service
        let match: Table.Match
        let head: RequestHead
        let live: LiveSettings
        /// The fields of the answer that depend on its route.
        let place: Place
        let sender: ClientIdentity
        /// The sender; nil for requests other than predictions and teaching.
        var client: ClientIdentity?

        /// The sender's claim on slots and in the work queue.
        var claim: Claim { Claim(client: sender.number) }

        /// Computes for a request in the client's turn, in the work queue.
        func computed<Value: Sendable>(
            _ request: HTTPRequest, _ body: @escaping @Sendable () throws(ServiceError) -> Value
        ) async throws(ServiceError) -> Value {
            try await service.work.run(for: claim, until: request.deadline(nil, settings: live.settings)) {
                (_) throws(ServiceError) in try body()
            }
        }

        /// Reads a request's body; a long one in the client's turn, in the work queue.
        func read<Value: Sendable>(
            _ request: HTTPRequest, _ body: @escaping @Sendable () throws(ServiceError) -> Value
        ) async throws(ServiceError) -> Value {
            try await service.work.read(
                request.body.count, for: claim, until: request.deadline(nil, settings: live.settings)
            ) { (_) throws(ServiceError) in try body() }
        }
    }

    /// Decides on a request. A structure, because the compiler fails on functions with a typed error as generic
    /// arguments.
    package struct Handler: Sendable {
        let decide: @Sendable (Call) throws(ServiceError) -> BodyAdmission
    }

    package typealias Table = RouteTable<Handler>

    /// All resources, in the order of the documents.
    package static let routes = Table(
        [
            .init(PathTemplate.task("classify"), .post(.infer, "classify", run(ClassifyTask.self, ClassifyQuery()))),
            .init(
                PathTemplate.model("/v1/models", "predict"),
                .post(.infer, "predict", run(PredictTask.self, ClassifyQuery()))),
            observation(.detect), observation(.segment), observation(.keypoints), observation(.embed),
            .init(["/v1/models"], .get(.read, "models", models)),
            .init(PathTemplate.model("/v1/models"), .get(.read, "model", model)),
            taughtList, taughtModel, taughtExamples, taughtExample, taughtClasses, taughtVersion, modelUpdate,
            .init(
                ["/v1/models/{name}/rollout"], .get(.read, "rollout", rollout),
                .put(.admin, "rollout_set", changesModels: true, setRollout),
                .delete(.admin, "rollout_delete", changesModels: true, deleteRollout)),
            .init(["/v2"], aliases: ["/v2/"], .get(.read, "server_metadata", serverMetadata)),
            .init(["/v2/health/live"], isProbe: true, .get(.read, "server_live", serverLive)),
            .init(["/v2/health/ready"], isProbe: true, .get(.read, "server_ready", serverReady)),
            .init(PathTemplate.model("/v2/models"), .get(.read, "model_metadata", modelMetadata)),
            .init(PathTemplate.model("/v2/models", "ready"), isProbe: true, .get(.read, "model_ready", modelReady)),
            .init(
                PathTemplate.model("/v2/models", "config"), .get(.read, "model_configuration", modelConfiguration)),
            .init(PathTemplate.model("/v2/models", "infer"), .post(.infer, "model_infer", infer)),
            .init(
                PathTemplate.model("/v2/models", "stats") + ["/v2/models/stats"],
                .get(.read, "model_statistics", statistics)),
            .init(["/v2/repository/index"], .post(.admin, "repository_index", repositoryIndex)),
            .init(
                ["/v2/repository/models/{name}/load"], .post(.admin, "repository_load", changesModels: true, load)),
            // Unloading a model must not be suggested.
            .init(
                ["/v2/repository/models/{name}/unload"], isSuggested: false,
                .post(.admin, "repository_unload", changesModels: true, unload)),
            .init(["/healthz"], isProbe: true, .get(nil, "health", health)),
            .init(["/readyz"], isProbe: true, .get(nil, "readiness", readiness)),
            .init(["/metrics"], .get(.read, "metrics", metrics)),
            .init(["/"], .get(nil, "page", page)),
            .init(["/openapi.json"], .get(.read, "openapi", openAPI)),
        ] + dialects)

    /// Suggests resources for unknown paths.
    package static let nearest = NearestRoute(routes)

    private static func observation(_ task: ObservationTask) -> Table.Resource {
        .init(
            PathTemplate.task(task.rawValue),
            .post(.infer, task.rawValue, run(ObserveTask.self, ObserveQuery(task: task))))
    }

    // MARK: Operations

    /// Made once, because it never changes.
    private static let description = Result { () throws(ServiceError) in json(try OpenAPIDocument.text(routes)) }
    private static let healthy = json("{\"status\":\"ok\"}")
    private static let ready = json("{\"status\":\"ready\"}")

    static func json(_ text: String) -> HTTPResponse {
        HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: Array(text.utf8))
    }

    /// Answers at once.
    static func answer(_ call: Call, _ response: HTTPResponse) -> BodyAdmission {
        var response = response
        response.tag = call.place.label
        response.fields += call.place.fields
        return .answer(response)
    }

    private static func health(_ call: Call) -> BodyAdmission { answer(call, healthy) }

    static func readiness(_ call: Call) throws(ServiceError) -> BodyAdmission {
        try call.service.checkReadiness(call.live.settings)
        let records = call.service.repository.records
        let devices = records.compactMap { record in record.model.map { (record.name, $0.device) } }
            .filter { $0.1.hasPrefix("gpu") }
        guard !devices.isEmpty else { return answer(call, ready) }
        // Lists the models that run on a GPU, so that a fallback to another device is visible.
        var writer = JSONWriter(capacity: 128)
        writer.object { writer in
            writer.member("status", "ready")
            writer.key("devices")
            writer.object { writer in for (name, device) in devices { writer.member(name, device) } }
        }
        return answer(
            call, HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes))
    }

    private static let pageTag = HTTPResponse.entityTag(of: Page.content(teaches: false), isWeak: true)
    private static let teachingPageTag = HTTPResponse.entityTag(of: Page.content(teaches: true), isWeak: true)
    private static let descriptionTag = HTTPResponse.entityTag(of: (try? description.get())?.body ?? [])

    private static func page(_ call: Call) -> BodyAdmission {
        let teaches = call.service.taught != nil
        return call.service.compute(call) {
            Page.response(teaches: teaches).revalidated(by: $0, tag: teaches ? teachingPageTag : pageTag)
        }
    }

    private static func openAPI(_ call: Call) -> BodyAdmission {
        call.service.compute(call) { (request) throws(ServiceError) in
            try description.get().revalidated(by: request, tag: descriptionTag)
        }
    }

    private static func metrics(_ call: Call) -> BodyAdmission {
        call.service.compute(call) { _ in call.service.metricsPage(call.live.settings) }
    }

    // MARK: Models and predictions

    private static func models(_ call: Call) -> BodyAdmission {
        call.service.compute(call) { _ in modelsHandler(call).list() }
    }

    private static func model(_ call: Call) -> BodyAdmission {
        call.service.compute(call) { (_) throws(ServiceError) in
            try modelsHandler(call).describe(call.match.name, version: call.match.version)
        }
    }

    static func modelsHandler(_ call: Call) -> ModelsHandler {
        ModelsHandler(
            repository: call.service.repository, taught: call.service.taught,
            defaultModel: { try? call.service.repository.defaultName(call.live.settings) },
            hasVersionStatus: call.live.settings.dialects.contains(.tensorFlowServing))
    }

    /// Decides on the requests of a task.
    /// - Parameter query: a query without parameters.
    static func run<Job: PredictionTask>(
        _: Job.Type, _ query: Job.Query
    ) -> @Sendable (Call) throws(ServiceError) -> BodyAdmission {
        { (call) throws(ServiceError) in
            var asked = query
            try asked.read(call.head.target, settings: call.live.settings)
            let query = asked
            let choice = try choose(call, for: Job.self) { (repository) throws(ServiceError) in
                try Job.defaultName(query, in: repository, call.live.settings)
            }
            return call.service.accept(call) { (request) async throws(ServiceError) in
                let sharing = sharing(call, readsQuery: true)
                return try await choice.answer(request, sharing) { (request, choice) async throws(ServiceError) in
                    try await PredictionRunner<Job>(
                        repository: call.service.repository, live: call.live, metrics: call.service.metrics,
                        work: call.service.work
                    )
                    .respond(to: request, query, choice)
                }
            }
        }
    }

    /// The model of a request. Throws if there is no model of that name, or if its queue is full.
    /// - Parameters:
    ///   - job: the task; nil for a task that taught models cannot do.
    ///   - named: the name, if it is not in the path.
    ///   - version: the version, if it is not in the path.
    ///   - fallback: the name of the model if the request has none.
    static func choose(
        _ call: Call, for job: (any PredictionTask.Type)? = nil, name named: String? = nil, version: String? = nil,
        default fallback: (ModelRepository) throws(ServiceError) -> String = { _ in "" }
    ) throws(ServiceError) -> ModelChoice {
        let given = named ?? call.match.name, version = version ?? call.match.version
        let isNamed = !given.isEmpty
        let name = if isNamed { given } else { try fallback(call.service.repository) }
        let claim = Claim(client: call.client?.number ?? 0)
        if let taught = call.service.taught, taught.owns(name) {
            guard job?.answersTaughtModels ?? false else { throw taught.refusal(name) }
            let ready = try taught.check(try taught.find(name), version: version)
            if let refusal = ready?.limiter.announce(claim: claim) { throw ServiceError(refusal) }
            return ModelChoice(
                name: name, version: version, ready: ready, isNamed: isNamed, claim: claim, taught: taught)
        }
        let route =
            version == nil
            ? call.service.shadows.route(name, call.head, sender: call.client, settings: call.live.settings) : nil
        let asked = route.flatMap { $0.isShare ? $0.candidate : nil } ?? version
        let ready: Model?
        do throws(InferenceError) {
            ready = try call.service.repository.readyModel(named: name, version: asked)
        } catch {
            throw ServiceError(error)
        }
        if let refusal = ready?.limiter.announce(claim: claim) { throw ServiceError(refusal) }
        return ModelChoice(name: name, version: version, ready: ready, isNamed: isNamed, claim: claim, route: route)
    }

    /// Refuses, with 400, a request for a taught model on a route for models of the repository.
    static func refuseTaught(_ call: Call) throws(ServiceError) {
        guard let taught = call.service.taught, taught.owns(call.match.name) else { return }
        throw taught.refusal(call.match.name)
    }

    // MARK: Open Inference Protocol

    private static func metadata(_ call: Call) throws(ServiceError) -> MetadataHandler {
        try refuseTaught(call)
        return MetadataHandler(repository: call.service.repository, settings: call.live.settings)
    }

    private static func serverMetadata(_ call: Call) -> BodyAdmission {
        call.service.accept(call) { (_) throws(ServiceError) in try metadata(call).server() }
    }

    private static func serverLive(_ call: Call) -> BodyAdmission { answer(call, MetadataHandler.live()) }

    private static func serverReady(_ call: Call) throws(ServiceError) -> BodyAdmission {
        try call.service.checkReadiness(call.live.settings)
        return answer(call, MetadataHandler.ready())
    }

    private static func modelMetadata(_ call: Call) -> BodyAdmission {
        call.service.accept(call) { (request) async throws(ServiceError) in
            let handler = try metadata(call), name = call.match.name
            let model = try await handler.model(named: name, version: call.match.version)
            return try await call.computed(request) { () throws(ServiceError) in
                handler.metadata(of: model, named: name)
            }
        }
    }

    private static func modelReady(_ call: Call) -> BodyAdmission {
        call.service.accept(call) { (_) throws(ServiceError) in
            try metadata(call).modelReady(call.match.name, version: call.match.version)
        }
    }

    private static func modelConfiguration(_ call: Call) -> BodyAdmission {
        call.service.accept(call) { (request) async throws(ServiceError) in
            let handler = try metadata(call), name = call.match.name
            let model = try await handler.model(named: name, version: call.match.version)
            return try await call.computed(request) { () throws(ServiceError) in
                handler.configuration(of: model, named: name)
            }
        }
    }

    private static func infer(_ call: Call) throws(ServiceError) -> BodyAdmission {
        let choice = try choose(call)
        return call.service.accept(call) { (request) async throws(ServiceError) in
            try await choice.answer(request, sharing(call, readsQuery: false)) {
                (request, choice) async throws(ServiceError) in
                try await InferHandler(
                    repository: call.service.repository, settings: call.live.settings, metrics: call.service.metrics,
                    work: call.service.work
                )
                .respond(to: request, choice)
            }
        }
    }

    private static func statistics(_ call: Call) throws(ServiceError) -> BodyAdmission {
        try refuseTaught(call)
        let handler = StatisticsHandler(repository: call.service.repository)
        let name = call.match.name.isEmpty ? nil : call.match.name
        return call.service.compute(call) { (_) throws(ServiceError) in
            try handler.respond(name, version: call.match.version)
        }
    }

    private static func repositoryIndex(_ call: Call) -> BodyAdmission {
        let control = RepositoryHandler(repository: call.service.repository)
        return call.service.compute(call) { (request) throws(ServiceError) in try control.index(request) }
    }

    private static func load(_ call: Call) -> BodyAdmission {
        let control = RepositoryHandler(repository: call.service.repository)
        return call.service.accept(call) { (request) async throws(ServiceError) in
            try call.service.taught?.refuseControl(of: call.match.name)
            try await call.read(request) { () throws(ServiceError) in
                try control.readParameters(request, refusingOverrides: true)
            }
            return try await control.load(call.match.name)
        }
    }

    private static func unload(_ call: Call) -> BodyAdmission {
        let control = RepositoryHandler(repository: call.service.repository)
        return call.service.accept(call) { (request) async throws(ServiceError) in
            try call.service.taught?.refuseControl(of: call.match.name)
            try await call.read(request) { () throws(ServiceError) in
                try control.readParameters(request, refusingOverrides: false)
            }
            return try control.unload(call.match.name)
        }
    }
}

// MARK: Rollouts

extension Service {
    fileprivate static func rollout(_ call: Call) throws(ServiceError) -> BodyAdmission {
        try refuseTaught(call)
        let handler = RolloutHandler(repository: call.service.repository, settings: call.live.settings)
        return call.service.compute(call) { (_) throws(ServiceError) in try handler.answer(call.match.name) }
    }

    fileprivate static func setRollout(_ call: Call) throws(ServiceError) -> BodyAdmission {
        try refuseTaught(call)
        let handler = RolloutHandler(repository: call.service.repository, settings: call.live.settings)
        return call.service.accept(call) { (request) async throws(ServiceError) in
            let plan = try await call.read(request) { () throws(ServiceError) in try handler.plan(request) }
            return try await handler.set(call.match.name, plan, request)
        }
    }

    fileprivate static func deleteRollout(_ call: Call) throws(ServiceError) -> BodyAdmission {
        try refuseTaught(call)
        let handler = RolloutHandler(repository: call.service.repository, settings: call.live.settings)
        return call.service.accept(call) { (_) async throws(ServiceError) in
            try await handler.delete(call.match.name)
        }
    }
}

extension RouteTable.Method where Handler == Service.Handler {
    static func put(
        _ access: AccessClass?, _ operation: String, changesModels: Bool = false,
        _ decide: @escaping @Sendable (Service.Call) throws(ServiceError) -> BodyAdmission
    ) -> Self {
        .init(
            method: .put, access: access, operation: operation, changesModels: changesModels,
            handler: .init(decide: decide))
    }

    static func delete(
        _ access: AccessClass?, _ operation: String, changesModels: Bool = false,
        _ decide: @escaping @Sendable (Service.Call) throws(ServiceError) -> BodyAdmission
    ) -> Self {
        .init(
            method: .delete, access: access, operation: operation, changesModels: changesModels,
            handler: .init(decide: decide))
    }

    static func get(
        _ access: AccessClass?, _ operation: String,
        _ decide: @escaping @Sendable (Service.Call) throws(ServiceError) -> BodyAdmission
    ) -> Self {
        .init(method: .get, access: access, operation: operation, handler: .init(decide: decide))
    }

    static func post(
        _ access: AccessClass?, _ operation: String, changesModels: Bool = false,
        _ decide: @escaping @Sendable (Service.Call) throws(ServiceError) -> BodyAdmission
    ) -> Self {
        .init(
            method: .post, access: access, operation: operation, changesModels: changesModels,
            handler: .init(decide: decide))
    }
}

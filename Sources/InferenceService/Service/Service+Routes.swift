internal import Dialects
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
package import ServiceCore
internal import ServicePlanning
internal import Tasks
internal import WireFormats

/// The table of routes. A row names the method of the handler that answers. The handler is created when a request's
/// head has arrived, from a ``Call``, which has the current settings, so that an answer never mixes two configurations.
///
/// A wrong query, a model that does not exist and a model with a full queue are refused then, before the client sends
/// the body. Health checks of load balancers are answered here, on the event loop: requests in progress do not delay
/// them, and a task would double their cost.
extension Service {
    /// Decides on a request.
    typealias Decision = @Sendable (Service, Call) throws(ServiceError) -> BodyAdmission

    /// All resources, in the order of the documents.
    package static let routes = RouteTable(
        [
            .init(PathTemplate.task("classify"), .post(.infer, "classify", predicted(ClassifyTask.prediction))),
            .init(
                PathTemplate.model("/v1/models", "predict"),
                .post(.infer, "predict", predicted(PredictTask.prediction))),
            observation(.detect), observation(.segment), observation(.keypoints),
            .init(PathTemplate.task("embed"), .post(.infer, "embed", predicted(EmbedTask.prediction))),
            observation(.read),
            .init(["/v1/models"], .get(.read, "models", computed(ModelsHandler.list))),
            .init(PathTemplate.model("/v1/models"), .get(.read, "model", computed(ModelsHandler.describe))),
            .init(["/v1/models/{name}/openapi.json"], .get(.read, "model_openapi", modelDocument)),
            taughtList, taughtModel, taughtExamples, taughtSearch, taughtExport, taughtExample, taughtClasses,
            taughtVersion, kept, keptPicture,
            .init(
                ["/v1/models/{name}/update"], .post(.teach, "update_model", answered(UpdateHandler.respond))),
            .init(
                ["/v1/models/{name}/rollout"], .get(.read, "rollout", computed(RolloutHandler.describe)),
                .put(.admin, "rollout_set", changesModels: true, answered(RolloutHandler.set)),
                .delete(.admin, "rollout_delete", changesModels: true, answered(RolloutHandler.delete))),
            .init(
                ["/v1/models/{name}/drift"], .get(.read, "drift", computed(DriftHandler.describe)),
                .post(.admin, "drift_learn", changesModels: true, answered(DriftHandler.learn))),
            .init(
                ["/v2"], aliases: ["/v2/"], .get(.read, "server_metadata", answered(MetadataHandler.server))),
            .init(["/v2/health/live"], isProbe: true, .get(.read, "server_live", serverLive)),
            .init(["/v2/health/ready"], isProbe: true, .get(.read, "server_ready", serverReady)),
            .init(
                PathTemplate.model("/v2/models"), .get(.read, "model_metadata", answered(MetadataHandler.metadata))),
            .init(
                PathTemplate.model("/v2/models", "ready"), isProbe: true,
                .get(.read, "model_ready", answered(MetadataHandler.modelReady))),
            .init(
                PathTemplate.model("/v2/models", "config"),
                .get(.read, "model_configuration", answered(MetadataHandler.configuration))),
            .init(
                PathTemplate.model("/v2/models", "infer"),
                .post(.infer, "model_infer", predicted(InferHandler.prediction))),
            .init(
                PathTemplate.model("/v2/models", "stats") + ["/v2/models/stats"],
                .get(.read, "model_statistics", computed(StatisticsHandler.respond))),
            .init(
                ["/v2/repository/index"], .post(.admin, "repository_index", computed(RepositoryHandler.index))),
            .init(
                ["/v2/repository/models/{name}/load"],
                .post(.admin, "repository_load", changesModels: true, answered(RepositoryHandler.load))),
            // Unloading a model must not be suggested.
            .init(
                ["/v2/repository/models/{name}/unload"], isSuggested: false,
                .post(.admin, "repository_unload", changesModels: true, answered(RepositoryHandler.unload))),
            .init(["/healthz"], isProbe: true, .get(nil, "health", health)),
            .init(["/readyz"], isProbe: true, .get(nil, "readiness", readiness)),
            .init(["/metrics"], .get(.read, "metrics", metrics)),
            .init(["/"], .get(nil, "page", page)),
            .init(["/openapi.json"], .get(.read, "openapi", openAPI)),
        ] + dialects)

    /// Suggests resources for unknown paths.
    package static let nearest = NearestRoute(routes.suggested)

    private static func observation(_ task: ObservationTask) -> RouteTable.Resource {
        .init(
            PathTemplate.task(task.rawValue),
            .post(
                .infer, task.rawValue, predicted { call throws(ServiceError) in try ObserveTask.prediction(call, task) }
            ))
    }

    // MARK: Handlers

    /// Computes the answer by a method of the handler, in the client's turn, in the work queue.
    static func computed<Job: CallHandler>(
        _ answer: @escaping @Sendable (Job) -> (HTTPRequest) throws(ServiceError) -> HTTPResponse
    ) -> Decision {
        { (service, call) throws(ServiceError) in
            let job = try Job(call)
            return service.compute(call) { (request) throws(ServiceError) in try answer(job)(request) }
        }
    }

    /// Answers by a method of the handler, which takes its turns itself.
    static func answered<Job: CallHandler>(
        _ answer: @escaping @Sendable (Job) -> (HTTPRequest) async throws(ServiceError) -> HTTPResponse
    ) -> Decision {
        { (service, call) throws(ServiceError) in
            let job = try Job(call)
            return service.accept(call) { (request) async throws(ServiceError) in try await answer(job)(request) }
        }
    }

    /// Answers a prediction.
    /// - Parameter prediction: reads the head.
    static func predicted(
        _ prediction: @escaping @Sendable (Call) throws(ServiceError) -> PredictionCall
    ) -> Decision {
        { (service, call) throws(ServiceError) in try service.predict(try prediction(call)) }
    }

    // MARK: Operations

    /// Made once, because it never changes.
    private static let description = Result { () throws(ServiceError) in
        json(try OpenAPIDocument.text(routes.documented))
    }
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

    private static func health(_: Service, _ call: Call) -> BodyAdmission { answer(call, healthy) }

    static func readiness(_ service: Service, _ call: Call) throws(ServiceError) -> BodyAdmission {
        try service.checkReadiness(call.live.settings)
        let records = service.repository.records
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

    private static let pageTags = Dictionary(
        uniqueKeysWithValues: Page.Form.all.map { form in
            (form, HTTPResponse.entityTag(of: Page.content(form), isWeak: true))
        })
    private static let descriptionTag = HTTPResponse.entityTag(of: (try? description.get())?.body ?? [])

    private static func page(_ service: Service, _ call: Call) -> BodyAdmission {
        let form = Page.Form(teaches: service.taught != nil, keeps: service.keepsPictures)
        return service.compute(call) {
            Page.response(form).revalidated(by: $0, tag: pageTags[form] ?? "")
        }
    }

    private static func openAPI(_ service: Service, _ call: Call) -> BodyAdmission {
        service.compute(call) { (request) throws(ServiceError) in
            try description.get().revalidated(by: request, tag: descriptionTag)
        }
    }

    private static func metrics(_ service: Service, _ call: Call) -> BodyAdmission {
        service.compute(call) { _ in service.metricsPage(call.live.settings) }
    }

    private static func serverLive(_: Service, _ call: Call) -> BodyAdmission { answer(call, MetadataHandler.live()) }

    private static func serverReady(_ service: Service, _ call: Call) throws(ServiceError) -> BodyAdmission {
        try service.checkReadiness(call.live.settings)
        return answer(call, MetadataHandler.ready())
    }
}

extension RouteTable.Method {
    static func put(
        _ access: AccessClass?, _ operation: String, changesModels: Bool = false, _ decide: @escaping Service.Decision
    ) -> Self { .init(.put, access, operation, changesModels: changesModels, decide) }

    static func delete(
        _ access: AccessClass?, _ operation: String, changesModels: Bool = false, _ decide: @escaping Service.Decision
    ) -> Self { .init(.delete, access, operation, changesModels: changesModels, decide) }

    static func get(_ access: AccessClass?, _ operation: String, _ decide: @escaping Service.Decision) -> Self {
        .init(.get, access, operation, changesModels: false, decide)
    }

    static func post(
        _ access: AccessClass?, _ operation: String, changesModels: Bool = false, _ decide: @escaping Service.Decision
    ) -> Self { .init(.post, access, operation, changesModels: changesModels, decide) }
}

internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Settings
internal import Synchronization

/// What Ocelli answers: routes requests to their handlers and turns every failure into one form of error.
final class Service: HTTPResponder {
    private let repository: ModelRepository
    private let live: Mutex<LiveSettings>
    private let metrics: ServiceMetrics
    private let log: Log
    private let isDraining = Atomic<Bool>(false)
    private let server = Mutex(Watched())

    /// The server that `/metrics` reports; it owns the service, not the other way round.
    private struct Watched: Sendable {
        weak var server: HTTPServer?
    }

    init(repository: ModelRepository, settings: LiveSettings, metrics: ServiceMetrics, log: Log) {
        self.repository = repository
        live = Mutex(settings)
        self.metrics = metrics
        self.log = log
    }

    /// The settings in force. A request that has begun goes on with those it has taken.
    private var settings: Settings { live.withLock { $0 }.settings }

    /// From now on requests are answered by other settings.
    func use(_ settings: LiveSettings) {
        live.withLock { $0 = settings }
    }

    /// Where `/metrics` has the server's own numbers from.
    func watch(_ server: HTTPServer) {
        self.server.withLock { $0.server = server }
    }

    /// From now on `/readyz` says that no new requests should come.
    func beginDraining() {
        isDraining.store(true, ordering: .relaxed)
    }

    // MARK: HTTPResponder

    func admit(_ head: RequestHead, requestID: String) -> BodyAdmission {
        do throws(ServiceError) {
            let route = try route(of: head)
            // What is open to all needs no look at the settings.
            if let wanted = route.accessClass { try live.withLock { $0.access }.check(head, wanted) }
            // Answered on the event loop: nothing that others have in hand delays what balancers ask, and a task would cost
            // as much again.
            switch route {
            case .health: return .refuse(Self.healthy)
            case .readiness: return .refuse(try readiness())
            case .openInference(.live): return .refuse(MetadataHandler.live())
            case .openInference(.ready):
                _ = try readiness()
                return .refuse(MetadataHandler.ready())
            default: break
            }
            // A body that would be refused anyway is refused before it is sent.
            guard let (wanted, version) = try inferring(route, head) else {
                return .accept(maxBytes: settings.maxBody)
            }
            let model: Model?
            do throws(InferenceError) {
                model = try repository.readyModel(named: wanted, version: version)
            } catch {
                throw ServiceError(error)
            }
            if let refusal = model?.limiter.announce() { throw ServiceError(refusal) }
            return .accept(maxBytes: settings.maxBody)
        } catch {
            return .refuse(response(error, to: head, requestID: requestID))
        }
    }

    private static let healthy = tagged(text("{\"status\":\"ok\"}"), .health)
    private static let ready = tagged(text("{\"status\":\"ready\"}"), .readiness)

    private static func tagged(_ response: HTTPResponse, _ route: Route) -> HTTPResponse {
        var response = response
        response.tag = route.label
        return response
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        do throws(ServiceError) {
            return try await answer(request)
        } catch {
            if error.status == .internalServerError {
                log.error("request \(request.requestID): \(error.message)", repeating: error.label)
            }
            return response(error, to: request.head, requestID: request.requestID)
        }
    }

    func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse {
        response(ServiceError(error), requestID: requestID)
    }

    // MARK: Routes

    private func route(of head: RequestHead) throws(ServiceError) -> Route {
        guard let route = Route(path: head.target.path) else {
            throw ServiceError(
                .notFound, "not_found",
                "no such resource: \"\(head.target.path.prefix(200))\"; /v1/models lists the models")
        }
        guard route.methods.contains(head.method) else {
            let allow = route.methods.map(\.rawValue).joined(separator: ", ")
            throw ServiceError(
                .methodNotAllowed, "method_not_allowed",
                "\(head.target.path.prefix(200)) does not allow \(head.method.rawValue.prefix(20)); allowed: \(allow)",
                allow: allow)
        }
        return route
    }

    /// The model that a request wants to run; nil for routes that run none.
    private func inferring(_ route: Route, _ head: RequestHead) throws(ServiceError) -> (String, String?)? {
        switch route {
        case .classify(let name, let version):
            _ = try ClassifyQuery(head.target, settings: settings)
            return (try modelName(name), version)
        case .predict(let name, let version):
            _ = try ClassifyQuery(head.target, settings: settings)
            return (name, version)
        case .observe(let task, let name, let version):
            _ = try ObservationQuery(head.target, task: task, settings: settings)
            return (try modelName(name, for: task), version)
        case .openInference(.infer(let name, let version)): return (name, version)
        default: return nil
        }
    }

    private func answer(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let route = try route(of: request.head)
        var response: HTTPResponse
        switch route {
        case .health:
            response = Self.healthy
        case .readiness:
            response = try readiness()
        case .models:
            response = modelsHandler.list()
        case .model(let name, let version):
            response = try modelsHandler.describe(name, version: version)
        case .classify(let name, let version):
            let handler = ClassifyHandler(repository: repository, settings: settings, metrics: metrics)
            let modelName = try modelName(name)
            response = try await handler.respond(to: request, model: modelName, version: version)
        case .predict(let name, let version):
            let handler = PredictHandler(repository: repository, settings: settings, metrics: metrics)
            response = try await handler.respond(to: request, model: name, version: version)
        case .observe(let task, let name, let version):
            let handler = ObservationHandler(repository: repository, settings: settings, metrics: metrics)
            let modelName = try modelName(name, for: task)
            response = try await handler.respond(to: request, task: task, model: modelName, version: version)
        case .openInference(let route): response = try await answer(route, to: request)
        case .openAPI:
            response = Self.text(OpenAPIDocument.json)
        case .page:
            response = Page.response
        case .metrics:
            response = metricsPage
        }
        response.tag = route.label
        return response
    }

    private func answer(
        _ route: OpenInferenceRoute, to request: HTTPRequest
    ) async throws(ServiceError) -> HTTPResponse {
        let metadata = MetadataHandler(repository: repository, settings: settings)
        let control = RepositoryHandler(repository: repository, settings: settings)
        switch route {
        case .server: return metadata.server()
        case .live: return MetadataHandler.live()
        case .ready:
            _ = try readiness()
            return MetadataHandler.ready()
        case .model(let name, let version): return try await metadata.model(name, version: version)
        case .modelReady(let name, let version): return try metadata.modelReady(name, version: version)
        case .infer(let name, let version):
            let handler = InferHandler(repository: repository, settings: settings, metrics: metrics)
            return try await handler.respond(to: request, model: name, version: version)
        case .statistics(let name, let version):
            return try StatisticsHandler(repository: repository).respond(name, version: version)
        case .index: return try control.index(request)
        case .load(let name):
            try RepositoryControl.check(request, settings: settings)
            return try await control.load(name, request)
        case .unload(let name):
            try RepositoryControl.check(request, settings: settings)
            return try control.unload(name, request)
        }
    }

    private var modelsHandler: ModelsHandler {
        ModelsHandler(repository: repository, defaultModel: { try? self.modelName(nil) })
    }

    private var metricsPage: HTTPResponse {
        let page = MetricsPage(
            metrics: metrics, records: repository.records,
            server: server.withLock { $0.server }?.statistics ?? HTTPServerStatistics(), settings: settings,
            isReady: repository.isReady && !isDraining.load(ordering: .relaxed),
            suppressedLogLines: log.suppressedLines, lostLogLines: log.lostLines)
        return HTTPResponse(
            status: .ok, fields: [("Content-Type", MetricsText.contentType), ("Cache-Control", "no-store")],
            body: page.text)
    }

    private func readiness() throws(ServiceError) -> HTTPResponse {
        if isDraining.load(ordering: .relaxed) {
            throw ServiceError(.serviceUnavailable, "shutting_down", "the daemon is draining", retryAfter: 5)
        }
        guard repository.isReady else {
            let missing = repository.records.filter { $0.model == nil && $0.policy == .eager }
                .map { "\($0.name) is \($0.state.name)" }.joined(separator: ", ")
            throw ServiceError(.serviceUnavailable, "model_not_ready", "not ready: \(missing)", retryAfter: 1)
        }
        return Self.ready
    }

    /// The model that a route means: its own name, or the default model's.
    private func modelName(_ name: String?) throws(ServiceError) -> String {
        if let name { return name }
        if !settings.defaultModel.isEmpty { return settings.defaultModel }
        if let name = repository.defaultClassifier { return name }
        throw ServiceError(
            .notFound, "model_not_found",
            "no image classifier is ready: name a model in the path, /v1/models/{name}/classify; /v1/models lists the models"
        )
    }

    /// The same for the routes that find things. A default model that does something else stands back for one that does this.
    private func modelName(_ name: String?, for task: ObservationTask) throws(ServiceError) -> String {
        if let name = name ?? repository.defaultModel(for: task) { return name }
        throw ServiceError(
            .notFound, "model_not_found",
            "no model gives \(task.gives): a bundle declares it by an output of type \"\(task.outputType)\"; "
                + "/v1/models lists the models")
    }

    // MARK: Answers

    private static func text(_ json: String) -> HTTPResponse {
        HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: Array(json.utf8))
    }

    private func response(_ error: ServiceError, to head: RequestHead? = nil, requestID: String) -> HTTPResponse {
        metrics.failed(error)
        var fields = [("Content-Type", "application/json")]
        if error.status == .unauthorized { fields.append(("WWW-Authenticate", "Bearer realm=\"ocelli\"")) }
        if let seconds = error.retryAfter { fields.append(("Retry-After", String(seconds))) }
        if let allow = error.allow { fields.append(("Allow", allow)) }
        return HTTPResponse(
            status: error.status, fields: fields, body: error.json(requestID: requestID),
            tag: head.flatMap { Route(path: $0.target.path)?.label } ?? "none")
    }
}

internal import FlowControl
package import HTTPServer
package import HTTPWire
package import Inference
internal import Settings
internal import Synchronization

/// What Ocelli answers: routes requests to their handlers and turns every failure into one form of error.
package final class Service: HTTPResponder {
    private let repository: ModelRepository
    private let live: Mutex<LiveSettings>
    private let metrics: ServiceMetrics
    private let log: Log
    private let listenerRoutes: ListenerRoutes
    private let isDraining = Atomic<Bool>(false)
    private let server = Mutex(Watched())

    /// The server that `/metrics` reports; it owns the service, not the other way round.
    private struct Watched: Sendable {
        weak var server: HTTPServer?
    }

    package init(
        repository: ModelRepository, settings: LiveSettings, listenerRoutes: ListenerRoutes = .all,
        metrics: ServiceMetrics, log: Log
    ) {
        self.repository = repository
        self.listenerRoutes = listenerRoutes
        live = Mutex(settings)
        self.metrics = metrics
        self.log = log
    }

    /// From now on requests are answered by other settings.
    package func use(_ settings: LiveSettings) {
        live.withLock { $0 = settings }
    }

    /// Where `/metrics` has the server's own numbers from.
    func watch(_ server: HTTPServer) {
        self.server.withLock { $0.server = server }
    }

    /// From now on `/readyz` says that no new requests should come.
    package func beginDraining() {
        isDraining.store(true, ordering: .relaxed)
    }

    // MARK: HTTPResponder

    package func admit(_ head: RequestHead, requestID: String, listener: Int) -> BodyAdmission {
        let live = live.withLock { $0 }
        if head.target.form == .asterisk { return .refuse(Self.serverOptions) }
        var label = "none"
        do throws(ServiceError) {
            let route = try route(of: head, listener: listener, &label)
            try live.access.check(head, route.accessClass)
            return try decide(route, head, live)
        } catch {
            return .refuse(reporting(response(error, tag: label, requestID: requestID), live.settings))
        }
    }

    /// `OPTIONS *` asks what the server can do in general (RFC 9110, 9.3.7).
    private static let serverOptions = HTTPResponse(
        status: .noContent, fields: [("Allow", "GET, HEAD, POST, OPTIONS")], body: [])
    private static let healthy = tagged(text("{\"status\":\"ok\"}"), .health)
    private static let ready = tagged(text("{\"status\":\"ready\"}"), .readiness)

    private static func tagged(_ response: HTTPResponse, _ route: Route) -> HTTPResponse {
        var response = response
        response.tag = route.label
        return response
    }

    package func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse {
        response(ServiceError(error), requestID: requestID)
    }

    // MARK: Routes

    /// - Parameter label: becomes the route's, though the request may be refused.
    private func route(
        of head: RequestHead, listener: Int, _ label: inout String
    ) throws(ServiceError) -> Route {
        guard let route = Route(path: head.target.path) else {
            throw ServiceError(
                .notFound,
                "no such resource: \"\(head.target.path.prefix(200))\"; "
                    + (NearestRoute.path(near: head.target.path).map { "did you mean \($0)?" }
                        ?? "/v1/models lists the models"))
        }
        label = route.label
        try listenerRoutes.check(route, of: head, listener: listener)
        guard route.methods.contains(head.method) else {
            let path = head.target.path
            let allow = route.methods.map(\.rawValue).joined(separator: ", ")
            // `/v1/models/x:predict` is the description of a model of that name, but hardly meant so.
            let other = NearestRoute.path(near: path).flatMap { $0 == path ? nil : $0 }
            throw ServiceError(
                .methodNotAllowed,
                "\(path.prefix(200)) does not allow \(head.method.rawValue.prefix(20)); allowed: \(allow)"
                    + (other.map { "; did you mean \($0)?" } ?? ""),
                allow: allow)
        }
        return route
    }

    // MARK: Decisions

    /// Answers a request by what was decided when its head came.
    private typealias Answer = @Sendable (HTTPRequest) async throws(ServiceError) -> HTTPResponse

    /// A request that is answered in a task when its body has come.
    private func accept(_ route: Route, _ live: LiveSettings, answer: @escaping Answer) -> BodyAdmission {
        .accept(maxBytes: live.settings.maxBody) { [self] request in
            do throws(ServiceError) {
                var response = try await answer(request)
                response.tag = route.label
                return reporting(response, live.settings)
            } catch {
                if error.status == .internalServerError {
                    log.error("request \(request.requestID): \(error.message)", repeating: error.label)
                }
                return reporting(response(error, tag: route.label, requestID: request.requestID), live.settings)
            }
        }
    }

    /// Decides how a request is answered, by the settings of now: its handler has them, the query and the model, so that it never sees
    /// half of one configuration and half of another. A wrong query, a model that does not exist and a model whose queue is full are
    /// refused here, before the body is sent. What balancers ask is answered here, on the event loop: requests under way do not delay
    /// it, and a task would cost as much again.
    private func decide(_ route: Route, _ head: RequestHead, _ live: LiveSettings) throws(ServiceError) -> BodyAdmission
    {
        switch route {
        case .health: return .refuse(Self.healthy)
        case .readiness: return .refuse(try readiness(live.settings))
        case .page: return accept(route, live) { _ in Page.response }
        case .openAPI: return accept(route, live) { _ in Self.text(OpenAPIDocument.json) }
        case .metrics: return accept(route, live) { [self] _ in metricsPage(live.settings) }
        case .models: return accept(route, live) { [self] _ in modelsHandler(live.settings).list() }
        case .model(let name, let version):
            return accept(route, live) { [self] (_) throws(ServiceError) in
                try modelsHandler(live.settings).describe(name, version: version)
            }
        case .classify(let name, let version):
            let query = try ClassifyQuery(head.target, settings: live.settings)
            let chosen = if let name { name } else { try repository.defaultName(live.settings) }
            let choice = try choose(chosen, version, isNamed: name != nil)
            return accept(route, live) { [self] (request) async throws(ServiceError) in
                try await ClassifyHandler(repository: repository, settings: live.settings, metrics: metrics)
                    .respond(to: request, query, choice)
            }
        case .predict(let name, let version):
            let query = try ClassifyQuery(head.target, settings: live.settings)
            let choice = try choose(name, version)
            return accept(route, live) { [self] (request) async throws(ServiceError) in
                try await PredictHandler(repository: repository, settings: live.settings, metrics: metrics)
                    .respond(to: request, query, choice)
            }
        case .observe(let task, let name, let version):
            let query = try ObservationQuery(head.target, task: task, settings: live.settings)
            let chosen = if let name { name } else { try repository.defaultName(for: task, live.settings) }
            let choice = try choose(chosen, version, isNamed: name != nil)
            return accept(route, live) { [self] (request) async throws(ServiceError) in
                try await ObservationHandler(repository: repository, settings: live.settings, metrics: metrics)
                    .respond(to: request, query, choice)
            }
        case .openInference(let resource): return try decide(route, resource, live)
        }
    }

    private func decide(
        _ route: Route, _ resource: OpenInferenceRoute, _ live: LiveSettings
    ) throws(ServiceError) -> BodyAdmission {
        let control = RepositoryHandler(repository: repository)
        switch resource {
        case .live: return .refuse(MetadataHandler.live())
        case .ready:
            _ = try readiness(live.settings)
            return .refuse(MetadataHandler.ready())
        case .server: return accept(route, live) { [self] _ in metadata(live).server() }
        case .model(let name, let version):
            return accept(route, live) { [self] (_) async throws(ServiceError) in
                try await metadata(live).model(name, version: version)
            }
        case .modelReady(let name, let version):
            return accept(route, live) { [self] (_) throws(ServiceError) in
                try metadata(live).modelReady(name, version: version)
            }
        case .modelConfiguration(let name, let version):
            return accept(route, live) { [self] (_) async throws(ServiceError) in
                try await metadata(live).configuration(name, version: version)
            }
        case .infer(let name, let version):
            let choice = try choose(name, version)
            return accept(route, live) { [self] (request) async throws(ServiceError) in
                try await InferHandler(repository: repository, settings: live.settings, metrics: metrics)
                    .respond(to: request, choice)
            }
        case .statistics(let name, let version):
            let handler = StatisticsHandler(repository: repository)
            return accept(route, live) { (_) throws(ServiceError) in try handler.respond(name, version: version) }
        case .index:
            return accept(route, live) { (request) throws(ServiceError) in try control.index(request) }
        case .load(let name):
            return accept(route, live) { (request) async throws(ServiceError) in
                try RepositoryControl.check(request, settings: live.settings)
                return try await control.load(name, request)
            }
        case .unload(let name):
            return accept(route, live) { (request) throws(ServiceError) in
                try RepositoryControl.check(request, settings: live.settings)
                return try control.unload(name, request)
            }
        }
    }

    /// The model of a request, if there is one of that name and its queue has room.
    private func choose(
        _ name: String, _ version: String?, isNamed: Bool = true
    ) throws(ServiceError) -> ModelChoice {
        let ready: Model?
        do throws(InferenceError) {
            ready = try repository.readyModel(named: name, version: version)
        } catch {
            throw ServiceError(error)
        }
        if let refusal = ready?.limiter.announce() { throw ServiceError(refusal) }
        return ModelChoice(name: name, version: version, ready: ready, isNamed: isNamed)
    }

    // MARK: Small routes

    private func metadata(_ live: LiveSettings) -> MetadataHandler {
        MetadataHandler(repository: repository, settings: live.settings)
    }

    private func modelsHandler(_ settings: Settings) -> ModelsHandler {
        ModelsHandler(repository: repository, defaultModel: { try? self.repository.defaultName(settings) })
    }

    private func metricsPage(_ settings: Settings) -> HTTPResponse {
        let page = MetricsPage(
            metrics: metrics, records: repository.records,
            server: server.withLock { $0.server }?.statistics ?? HTTPServerStatistics(),
            decoding: DecodeBudget.shared.usage, settings: settings,
            isReady: repository.isReady(when: settings.readyCondition) && !isDraining.load(ordering: .relaxed),
            suppressedLogLines: log.suppressedLines, lostLogLines: log.lostLines)
        return HTTPResponse(
            status: .ok, fields: [("Content-Type", MetricsText.contentType), ("Cache-Control", "no-store")],
            body: page.text)
    }

    private func readiness(_ settings: Settings) throws(ServiceError) -> HTTPResponse {
        if isDraining.load(ordering: .relaxed) {
            throw ServiceError(.shuttingDown, "the daemon is draining", retryAfter: 5)
        }
        let missing = repository.missing(for: settings.readyCondition)
        guard missing.isEmpty else { throw ServiceError(notReady: missing) }
        return Self.ready
    }

    // MARK: Answers

    /// An answer that tells balancers how busy the models are, where that is wanted: an ORCA report (xDS data model,
    /// `xds.data.orca.v3.OrcaLoadReport`) in its form for HTTP.
    private func reporting(_ response: HTTPResponse, _ settings: Settings) -> HTTPResponse {
        guard settings.loadReports else { return response }
        var response = response
        let utilization = Units.decimal(repository.utilization, places: 3)
        response.fields.append(("endpoint-load-metrics", "TEXT application_utilization=\(utilization)"))
        return response
    }

    private static func text(_ json: String) -> HTTPResponse {
        HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: Array(json.utf8))
    }

    /// - Parameter tag: the label of the route, for the metrics.
    private func response(_ error: ServiceError, tag: String = "none", requestID: String) -> HTTPResponse {
        metrics.failed(error)
        var fields = [("Content-Type", "application/json")]
        if error.status == .unauthorized { fields.append(("WWW-Authenticate", "Bearer realm=\"ocelli\"")) }
        if let seconds = error.retryAfter { fields.append(("Retry-After", String(seconds))) }
        if let allow = error.allow { fields.append(("Allow", allow)) }
        var response = HTTPResponse(
            status: error.status, fields: fields, body: error.json(requestID: requestID), tag: tag)
        response.note = ErrorNote(error)
        return response
    }
}

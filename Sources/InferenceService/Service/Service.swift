package import Dialects
package import HTTPServer
package import HTTPWire
internal import Inference
package import Repository
package import ServiceCore
internal import ServicePlanning
internal import Settings
internal import Synchronization
package import Tasks
internal import WireFormats

/// The responder of Ocelli: routes requests to their handlers and converts all failures to one form of error.
/// Thread-safe.
package final class Service: HTTPResponder {
    private let parts: ServiceParts
    private let live: Mutex<LiveSettings>
    private let log: Log
    private let listenerRoutes: ListenerRoutes
    private let vertex: VertexRoutes
    private let isDraining = Atomic<Bool>(false)
    private let clients = ClientLimits()
    private let shadows: Shadows
    private let shared: SharedPredictions
    private let server = Mutex(Watched())

    var repository: ModelRepository { parts.repository }
    var taught: TaughtModels? { parts.taught }
    /// True if the daemon has a folder for kept pictures.
    var keepsPictures: Bool { parts.kept != nil }
    private var metrics: ServiceMetrics { parts.metrics }
    private var work: WorkQueue { parts.work }

    /// The server that `/metrics` reports. Weak, because it owns the service.
    private struct Watched: Sendable {
        weak var server: HTTPServer?
    }

    // Wide: the parts of a service, each under its name.
    package init(
        repository: ModelRepository, taught: TaughtModels? = nil, settings: LiveSettings,
        listenerRoutes: ListenerRoutes = .all, vertex: VertexRoutes = .none, work: WorkQueue = WorkQueue(),
        kept: PictureKeeper? = nil, metrics: ServiceMetrics, log: Log
    ) {
        self.vertex = vertex
        let drift = DriftMonitors(repository, taught: taught, settings: settings.settings, log: log)
        let watchers: [(any AnswerWatcher)?] = [drift, kept]
        parts = ServiceParts(
            repository: repository, taught: taught, metrics: metrics, work: work,
            watchers: watchers.compactMap { $0 }, drift: drift, kept: kept)
        shadows = Shadows(repository)
        self.listenerRoutes = listenerRoutes
        live = Mutex(settings)
        shared = SharedPredictions(settings.settings)
        TextCache.shared.use(capacity: settings.settings.textCache)
        self.log = log
        limitWork(settings.settings)
    }

    /// Applies other settings to requests from now on.
    package func use(_ settings: LiveSettings) {
        live.withLock { $0 = settings }
        taught?.use(settings.settings)
        parts.drift?.use(settings.settings)
        parts.kept?.use(settings.settings)
        shared.use(settings.settings)
        TextCache.shared.use(capacity: settings.settings.textCache)
        limitWork(settings.settings)
    }

    /// Limits the requests that wait for work to the maximum of connections, and their wait to that for a slot.
    private func limitWork(_ settings: Settings) {
        work.resize(capacity: settings.maxConnections, maxWait: .seconds(settings.queueWait))
    }

    /// The names of the taught models.
    package var taughtNames: [String] { taught?.names ?? [] }

    /// The number of requests that wait for a shared answer, including those for which it is computed.
    package var waitingForAnswers: Int { shared.waiting }

    /// Sets the server that `/metrics` reports.
    func watch(_ server: HTTPServer) {
        self.server.withLock { $0.server = server }
    }

    /// Begins to write from time to time what is known of answers.
    func beginWatching() { parts.drift?.begin() }

    /// Writes what is known of answers, after the last one.
    func endWatching() async { await parts.drift?.end() }

    /// Makes `/readyz` answer 503 from now on.
    package func beginDraining() {
        isDraining.store(true, ordering: .relaxed)
        taught?.stop()
    }

    // MARK: HTTPResponder

    package func admit(_ head: RequestHead, requestID: String, from source: RequestSource) -> BodyAdmission {
        let live = live.withLock { $0 }
        if head.target.form == .asterisk { return .answer(Self.serverOptions) }
        var place = Place()
        do throws(ServiceError) {
            let (match, method) = try route(of: head, live, listener: source.listener, &place)
            // Check the token before anything that depends on the daemon's models: a refusal must not reveal whether a
            // name exists.
            let token = try live.access.check(
                head, method.access, takesPassword: match.resource.dialect == .labelStudio)
            try Self.checkOrigin(
                RequestOrigin(head: head, remote: source.remote, isProxied: source.isProxied), of: method, live)
            let sender = ClientIdentity(source.client, token: token)
            let isCounted = method.access == .infer || method.access == .teach
            if isCounted {
                try clients.check(sender, rate: live.settings.clientRate, maximum: live.settings.clientInFlight)
            }
            return try method.decide(
                self,
                Call(
                    parts: parts, path: match.path, head: head, live: live, place: place, sender: sender,
                    client: isCounted ? sender : nil))
        } catch {
            if let answer = preflight(head, live, listener: source.listener) { return .answer(answer) }
            return .answer(reporting(response(error, at: place, requestID: requestID), live, place))
        }
    }

    /// Refuses a request to teach, or to change the set of models, if its origin does not permit it.
    private static func checkOrigin(
        _ origin: RequestOrigin, of method: RouteTable.Method, _ live: LiveSettings
    ) throws(ServiceError) {
        if method.access == .teach {
            try TeachingControl.check(origin, hasTokens: live.access.hasTokens, settings: live.settings)
        } else if method.changesModels {
            try RepositoryControl.check(origin, settings: live.settings)
        }
    }

    package func isProbe(_ head: RequestHead) -> Bool {
        let live = live.withLock { $0 }
        guard let match = match(head.target.path, head.method, live) else { return false }
        return match.resource.isProbe && isOn(match.resource, live)
    }

    /// Answers the preflight request of a page of another origin (CORS), without a token. Returns nil if the request is
    /// not a preflight, or if the page may not use the route.
    private func preflight(_ head: RequestHead, _ live: LiveSettings, listener: Int) -> HTTPResponse? {
        guard head.method == .options, let cors = live.cors, let match = match(head.target.path, head.method, live),
            isOn(match.resource, live)
        else { return nil }
        let methods = match.resource.methods.filter { method in
            CORSPolicy.concerns(method.access)
                && (try? listenerRoutes.check(match.resource.listenerClasses(of: method), of: head, listener: listener))
                    != nil
        }
        var answer = cors.preflight(head, methods: methods.flatMap { $0.method == .get ? [.get, .head] : [$0.method] })
        answer?.tag = match.resource.label
        return answer
    }

    /// The answer to `OPTIONS *`, which asks for the server's general capabilities (RFC 9110, 9.3.7).
    private static let serverOptions = HTTPResponse(
        status: .noContent, fields: [("Allow", (routes.allowed + [.options]).map(\.rawValue).joined(separator: ", "))],
        body: [])

    package func errorResponse(_ error: WireError, requestID: String) -> HTTPResponse {
        response(ServiceError(error), requestID: requestID)
    }

    // MARK: Routes

    private func isOn(_ resource: RouteTable.Resource, _ live: LiveSettings) -> Bool {
        resource.dialect.map(live.settings.dialects.contains) ?? true
    }

    /// The resource of a path. The table takes precedence over the paths of Vertex AI's variables.
    private func match(_ path: String, _ method: HTTPMethod, _ live: LiveSettings) -> RouteTable.Match? {
        let found = Self.routes.match(path)
        if let found, found.hasVerb, found.resource.method(method) == nil || !isOn(found.resource, live),
            let named = Self.routes.match(path, verbs: false), named.resource.method(method) != nil,
            (try? repository.records(of: named.path.name, version: named.path.version)) != nil
        {
            return named
        }
        if let found, isOn(found.resource, live) { return found }
        guard live.settings.dialects.contains(.vertex) else { return found }
        if path == vertex.health { return RouteTable.Match(Self.vertexHealth) }
        if path == vertex.predict { return RouteTable.Match(Self.vertexPredict) }
        return found
    }

    /// - Parameter place: set to the resource's, even if the request is refused.
    private func route(
        of head: RequestHead, _ live: LiveSettings, listener: Int, _ place: inout Place
    ) throws(ServiceError) -> (RouteTable.Match, RouteTable.Method) {
        let path = head.target.path
        guard let match = match(path, head.method, live) else {
            throw ServiceError(
                .notFound,
                "no such resource: \"\(path.prefix(200))\"; "
                    + (Self.nearest.path(near: path).map { "did you mean \($0)?" } ?? "/v1/models lists the models"))
        }
        let resource = match.resource
        let method = resource.method(head.method)
        if let dialect = resource.dialect, !isOn(resource, live) {
            throw ServiceError(
                .notFound,
                "\(path.prefix(200)) belongs to the interface \"\(dialect.rawValue)\", which is not turned on (dialects)"
                    + (Self.nearest.path(near: path).map { "; did you mean \($0)?" } ?? ""))
        }
        place = Place(resource, access: (method ?? resource.methods.first)?.access, head, live)
        guard let method else {
            for method in resource.methods.prefix(1) {
                try listenerRoutes.check(resource.listenerClasses(of: method), of: head, listener: listener)
            }
            let allow = resource.allowed.map(\.rawValue).joined(separator: ", ")
            // `/v1/models/x:predict` is the description of a model of that name, but is hardly meant so.
            let other = Self.nearest.path(near: path).flatMap { $0 == path ? nil : $0 }
            throw ServiceError(
                .methodNotAllowed,
                "\(path.prefix(200)) does not allow \(head.method.rawValue.prefix(20)); allowed: \(allow)"
                    + (other.map { "; did you mean \($0)?" }
                        ?? Self.uploadAdvice(for: head.method, allowed: resource.allowed)),
                allow: allow)
        }
        try listenerRoutes.check(resource.listenerClasses(of: method), of: head, listener: listener)
        return (match, method)
    }

    /// `curl URL` sends GET, and `curl -T FILE URL` PUT.
    private static func uploadAdvice(for method: HTTPMethod, allowed: [HTTPMethod]) -> String {
        guard allowed == [.post], [.get, .put].contains(method) else { return "" }
        return "; with curl, --data-binary @FILE sends a file with POST"
    }

    // MARK: Decisions

    /// Answers a request, by the decision made when its head arrived.
    typealias Answer = @Sendable (HTTPRequest) async throws(ServiceError) -> HTTPResponse

    /// Accepts a request, to be answered in a task when its body has arrived.
    func accept(_ call: Call, answer: @escaping Answer) -> BodyAdmission {
        let place = call.place, live = call.live, client = call.client
        return .accept(maxBytes: live.settings.maxBody) { [self] request in
            do throws(ServiceError) {
                let entry = try clients.enter(client, maximum: live.settings.clientInFlight)
                defer { entry?.leave() }
                var response = try await answer(request)
                response.tag = place.label
                return reporting(response, live, place)
            } catch {
                if error.status == .internalServerError {
                    log.error("request \(request.requestID): \(error.message)", repeating: error.label)
                }
                return reporting(response(error, at: place, requestID: request.requestID), live, place)
            }
        }
    }

    /// Accepts a request, to be computed in the client's turn, in the work queue.
    func compute(
        _ call: Call, answer: @escaping @Sendable (HTTPRequest) throws(ServiceError) -> HTTPResponse
    ) -> BodyAdmission {
        accept(call) { (request) async throws(ServiceError) in
            try await call.computed(request) { () throws(ServiceError) in try answer(request) }
        }
    }

    /// Answers a prediction with the model that is chosen now, or shares the answer of an equal request.
    func predict(_ prediction: PredictionCall) throws(ServiceError) -> BodyAdmission {
        let choice = try ModelChoice(for: prediction, shadows)
        return accept(prediction.call) { [shared] (request) async throws(ServiceError) in
            try await choice.answer(request, of: prediction, sharing: shared)
        }
    }

    /// Answers a prediction by the model that the body names.
    /// - Parameter reading: reads the body.
    func predict(
        _ call: Call, reading: @escaping @Sendable (Call, HTTPRequest) async throws(ServiceError) -> PredictionCall
    ) -> BodyAdmission {
        accept(call) { [self] (request) async throws(ServiceError) in
            let prediction = try await reading(call, request)
            return try await ModelChoice(for: prediction, shadows).answer(request, of: prediction, sharing: shared)
        }
    }

    /// Answers a prediction that is a part of a request, with the model that is chosen now.
    func answerPart(_ request: HTTPRequest, of prediction: PredictionCall) async throws(ServiceError) -> HTTPResponse {
        try await ModelChoice(for: prediction, shadows).answer(request, of: prediction, sharing: nil)
    }

    /// Throws if the daemon is draining, or if a model that must be ready is not.
    func checkReadiness(_ settings: Settings) throws(ServiceError) {
        if isDraining.load(ordering: .relaxed) {
            throw ServiceError(.shuttingDown, "the daemon is draining", retryAfter: 5)
        }
        let missing = repository.missing(for: settings.readyCondition)
        guard missing.isEmpty else { throw ServiceError(notReady: missing) }
    }

    func metricsPage(_ settings: Settings) -> HTTPResponse {
        let page = MetricsPage(
            metrics: metrics, records: repository.records, taught: taught?.usage, kept: parts.kept?.usage,
            rollouts: repository.rolloutViews, drift: parts.drift?.usage ?? [],
            server: server.withLock { $0.server }?.statistics ?? HTTPServerStatistics(),
            decoding: DecodeBudget.shared.usage, shared: shared.usage, texts: TextCache.shared.usage,
            settings: settings,
            isReady: repository.isReady(when: settings.readyCondition) && !isDraining.load(ordering: .relaxed),
            suppressedLogLines: log.suppressedLines, lostLogLines: log.lostLines)
        return HTTPResponse(
            status: .ok, fields: [("Content-Type", MetricsText.contentType), ("Cache-Control", "no-store")],
            body: page.text)
    }

    // MARK: Answers

    /// Adds the fields for pages of other origins and, if enabled, the load of the models for load balancers: an ORCA
    /// report (xDS data model, `xds.data.orca.v3.OrcaLoadReport`) in its form for HTTP.
    private func reporting(_ response: HTTPResponse, _ live: LiveSettings, _ place: Place) -> HTTPResponse {
        guard live.settings.loadReports || !place.fields.isEmpty else { return response }
        var response = response
        response.fields += place.fields
        guard live.settings.loadReports else { return response }
        let utilization = Units.decimal(repository.utilization, places: 3)
        response.fields.append(("endpoint-load-metrics", "TEXT application_utilization=\(utilization)"))
        return response
    }

    private func response(_ error: ServiceError, at place: Place = Place(), requestID: String) -> HTTPResponse {
        metrics.failed(error)
        var fields = [("Content-Type", "application/json")]
        if error.status == .unauthorized { fields.append(("WWW-Authenticate", "Bearer realm=\"ocelli\"")) }
        if let seconds = error.retryAfter { fields.append(("Retry-After", String(seconds))) }
        if let allow = error.allow { fields.append(("Allow", allow)) }
        var response = HTTPResponse(
            status: error.status, fields: fields, body: error.json(requestID: requestID, dialect: place.dialect),
            tag: place.label)
        response.note = ErrorNote(error)
        return response
    }
}

extension Place {
    /// - Parameter access: the class of the requested method.
    fileprivate init(
        _ resource: RouteTable.Resource, access: AccessClass?, _ head: RequestHead, _ live: LiveSettings
    ) {
        self.init()
        label = resource.label
        dialect = resource.dialect
        if let cors = live.cors, CORSPolicy.concerns(access) { fields = cors.fields(for: head) }
    }
}

import HTTPServer
import HTTPWire
import InferenceService
internal import ServiceCore
internal import ServicePlanning
import Settings
import Testing

/// The order of the checks of a request's head: access first, then the limits of its client, then the requested
/// resource.
@Suite(.timeLimit(.minutes(2))) struct AdmissionOrderTests {
    private typealias World = OpenInferenceHandlersTests.World

    /// The status of a request that is answered by its head; nil if it is accepted.
    private func status(_ service: Service, _ method: HTTPMethod, _ path: String, _ fields: String = "") throws -> Int?
    {
        let head = try Requests.head("\(method.rawValue) \(path) HTTP/1.1\nHost: localhost\(fields)")
        switch service.admit(head, requestID: "r", from: RequestSource(remote: "127.0.0.1:4242")) {
        case .answer(let response): return response.status.code
        case .accept: return nil
        }
    }

    /// Every method of every resource, for a model that does not exist.
    private var methods: [(path: String, method: RouteTable.Method)] {
        Service.routes.resources.flatMap { resource in
            resource.templates.flatMap { template in
                let path = template.text.replacing("{name}", with: "unknown").replacing("{version}", with: "7")
                    .replacing("{label}", with: "stable").replacing("{id}", with: "7f")
                return resource.methods.map { (path, $0) }
            }
        }
    }

    @Test(
        "what only this machine may do is 403 from elsewhere, also for models that do not exist",
        arguments: ["X-Forwarded-For: 203.0.113.7", "Origin: http://evil.example", "Sec-Fetch-Site: cross-site"])
    func originComesFirst(_ field: String) async throws {
        let world = try await World { $0.dialects = Dialect.allCases }
        let operations = [
            "rollout_set", "rollout_delete", "repository_load", "repository_unload", "teach", "examples",
            "forget_example", "forget_class", "create_taught_model", "delete_taught_model", "serve_taught_version",
            "search_examples", "export_taught_model", "update_model", "deepstack_face_register", "deepstack_face_list",
            "deepstack_face_delete", "kept_pictures", "kept_picture", "delete_kept_pictures", "delete_kept_picture",
            "labelstudio_setup", "labelstudio_webhook", "drift_learn",
        ]
        var refused: Set<String> = []
        for (path, method) in methods {
            let status = try status(world.service, method.method, path, "\n" + field)
            if status == 403 { refused.insert(method.operation) }
        }
        #expect(refused == Set(operations))
    }

    @Test("without a token every route that needs one is 401, even for models that do not exist")
    func tokensComeFirst() async throws {
        let world = try await World()
        var settings = Settings()
        settings.dialects = Dialect.allCases
        let file = TokenFile(text: "infer token-of-predictions\n", name: "tokens")
        world.service.use(LiveSettings(settings: settings, access: AccessControl(file)))
        for (path, method) in methods where method.access != nil {
            #expect(try status(world.service, method.method, path) == 401, "\(method.method) \(path)")
            guard method.access != .infer else { continue }
            let weak = try status(
                world.service, method.method, path, "\nAuthorization: Bearer token-of-predictions")
            #expect(weak == 403, "\(method.method) \(path)")
        }
    }

    @Test("health probes are answered beyond the limit of connections, and other requests are not")
    func probes() async throws {
        let world = try await World { $0.dialects = [.sageMaker] }
        func isProbe(_ path: String, _ method: HTTPMethod = .get) throws -> Bool {
            world.service.isProbe(try Requests.head("\(method.rawValue) \(path) HTTP/1.1\nHost: localhost"))
        }
        for path in ["/healthz", "/readyz", "/v2/health/live", "/v2/health/ready", "/v2/models/m/ready", "/ping"] {
            #expect(try isProbe(path) && isProbe(path, .head), "\(path)")
        }
        for path in ["/", "/v1/models", "/metrics", "/openapi.json", "/healthz/x", "/v2/models/m", "/unknown"] {
            #expect(try !isProbe(path), "\(path)")
        }
        #expect(try !isProbe("/v1/classify", .post))
        world.service.use(LiveSettings(settings: Settings(), access: .open))
        #expect(try !isProbe("/ping"), "its dialect is off")
    }

    @Test("one token has one rate limit, however its field is written")
    func oneTokenHasOneRate() async throws {
        let world = try await World()
        var settings = Settings()
        settings.clientRate = 1
        let file = TokenFile(text: "all token-of-one-client\nall token-of-another\n", name: "tokens")
        world.service.use(LiveSettings(settings: settings, access: AccessControl(file)))
        let clock = ContinuousClock(), start = clock.now
        var admitted = 0
        for scheme in ["Bearer ", "bearer ", "BEARER ", "bEaReR   ", "Bearer  ", "beareR    "] {
            let field = "\nAuthorization: \(scheme)token-of-one-client"
            if try status(world.service, .post, "/v1/models/digits/classify", field) == nil { admitted += 1 }
        }
        // One at once, and one for each elapsed second.
        #expect(admitted >= 1 && admitted <= 1 + Int((clock.now - start).components.seconds) + 1)
        let other = "\nAuthorization: Bearer token-of-another"
        #expect(try status(world.service, .post, "/v1/models/digits/classify", other) == nil)
    }
}

import HTTPServer
import HTTPWire
import InferenceService
internal import ServiceCore
import Settings
import Testing

/// Pages of other origins (Fetch, section 3.2): the permitted requests, and the fields of the answers.
@Suite(.timeLimit(.minutes(2))) struct CORSTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    private static func world(_ origins: [String] = ["https://app.example"]) async throws -> World {
        try await World { settings in
            settings.corsOrigins = origins
            settings.dialects = [.tensorFlowServing]
        }
    }

    private static func corsFields(_ reply: Reply) -> [String] {
        reply.response.fields.map { $0.name.lowercased() }.filter { $0.hasPrefix("access-control") || $0 == "vary" }
            .sorted()
    }

    @Test("without the cors_origins setting no CORS field is sent, and a preflight is answered 405")
    func withoutTheSetting_noFieldIsSent() async throws {
        let world = try await World()
        for line in ["GET /v1/models", "GET /v1/models/nothing", "OPTIONS /v1/classify", "GET /nothing"] {
            let fields = "\nOrigin: https://app.example\nAccess-Control-Request-Method: POST"
            let reply = try await world.answer(line, fields: fields)
            #expect(Self.corsFields(reply).isEmpty, "\(line)")
            #expect(!line.hasPrefix("OPTIONS") || reply.status == 405)
        }
    }

    @Test("an allowed origin is named in answers and errors, with the exposed fields and Vary")
    func anAllowedOrigin_isNamedInAnswersAndErrors() async throws {
        let world = try await Self.world()
        for (line, status) in [
            ("GET /v1/models", 200), ("GET /v1/models/nothing", 404), ("POST /v1/models/nothing/classify", 404),
            ("POST /v1/classify?top=x", 400), ("GET /v1/classify", 405), ("GET /v2/health/live", 200),
            ("POST /v1/models/nothing:predict", 404),
        ] {
            let reply = try await world.answer(line, fields: "\nOrigin: https://app.example")
            #expect(reply.status == status, "\(line)")
            #expect(reply["Access-Control-Allow-Origin"] == "https://app.example", "\(line)")
            #expect(reply["Vary"] == "Origin", "\(line)")
            let exposed = try #require(reply["Access-Control-Expose-Headers"]).split(separator: ", ")
            for name in ["X-Request-ID", "Server-Timing", "Retry-After", "Cache-Status"] {
                #expect(exposed.contains { $0 == name }, "\(line)")
            }
            #expect(reply["Access-Control-Allow-Credentials"] == nil)
        }
    }

    @Test("a request without an allowed origin gets only Vary, and its preflight is answered 405")
    func anyOther_isNot() async throws {
        let world = try await Self.world()
        let cases: [String] = [
            "", "\nOrigin: https://other.example", "\nOrigin: null", "\nOrigin: https://app.example.evil",
            "\nOrigin: http://app.example", "\nOrigin: https://app.example:444", "\nOrigin: HTTPS://APP.EXAMPLE",
            "\nOrigin: https://app.example\nOrigin: https://app.example", "\nOrigin: *",
        ]
        for fields in cases {
            let reply = try await world.answer("GET /v1/models", fields: fields)
            // A cache may hold the answer for another page, which must revalidate it.
            #expect(reply.status == 200 && Self.corsFields(reply) == ["vary"] && reply["Vary"] == "Origin", "\(fields)")
            let preflight = try await world.answer(
                "OPTIONS /v1/classify", fields: fields + "\nAccess-Control-Request-Method: POST")
            #expect(preflight.status == 405 && preflight["Access-Control-Allow-Origin"] == nil, "\(fields)")
        }
    }

    @Test("a star in cors_origins allows every origin, without credentials")
    func aStar_allowsEveryPageWithoutCredentials() async throws {
        let world = try await Self.world(["*"])
        for origin in ["https://any.example", "null"] {
            let reply = try await world.answer("GET /v1/models", fields: "\nOrigin: \(origin)")
            #expect(reply["Access-Control-Allow-Origin"] == "*" && reply["Vary"] == "Origin")
            #expect(reply["Access-Control-Allow-Credentials"] == nil)
        }
    }

    @Test("a preflight from an allowed origin is answered 204 with the route's methods")
    func aPreflight_isAnswered() async throws {
        let world = try await Self.world()
        let cases: [(String, String, String)] = [
            ("/v1/classify", "POST", "POST"), ("/v1/models", "GET", "GET, HEAD"), ("/v1/models/m", "HEAD", "GET, HEAD"),
            ("/v2/models/m/infer", "POST", "POST"), ("/v1/models/m:predict", "POST", "POST"),
        ]
        for (path, method, allowed) in cases {
            let reply = try await world.answer(
                "OPTIONS \(path)",
                fields: "\nOrigin: https://app.example\nAccess-Control-Request-Method: \(method)"
                    + "\nAccess-Control-Request-Headers: authorization,content-type")
            #expect(reply.status == 204 && reply.response.body.isEmpty, "\(path)")
            #expect(reply["Access-Control-Allow-Origin"] == "https://app.example", "\(path)")
            #expect(reply["Access-Control-Allow-Methods"] == allowed, "\(path)")
            #expect(reply["Access-Control-Allow-Headers"] == "authorization,content-type", "\(path)")
            #expect(reply["Vary"] == "Origin, Access-Control-Request-Method, Access-Control-Request-Headers", "\(path)")
            #expect(
                reply["Access-Control-Max-Age"] != nil && reply["Access-Control-Allow-Credentials"] == nil, "\(path)")
        }
    }

    /// Routes that change something, open routes, missing routes, missing methods of a route, and requests that are not
    /// preflights.
    @Test("preflights for admin, open or missing routes, or for a wrong or missing method, are refused")
    func otherPreflights_areRefused() async throws {
        let world = try await Self.world()
        let cases: [(String, String?)] =
            [
                ("/v2/repository/models/m/load", "POST"), ("/v2/repository/index", "POST"), ("/healthz", "GET"),
                ("/", "GET"),
                ("/nothing", "GET"), ("/v1/classify", "GET"), ("/v1/classify", "post"), ("/v1/models", "DELETE"),
                ("/v1/classify", nil), ("/ping", "GET"), ("/invocations", "POST"),
            ] as [(String, String?)]
        for (path, method) in cases {
            let asks = method.map { "\nAccess-Control-Request-Method: \($0)" } ?? ""
            let reply = try await world.answer("OPTIONS \(path)", fields: "\nOrigin: https://app.example" + asks)
            #expect(reply.status == 405 || reply.status == 404, "\(path)")
            #expect(
                reply["Access-Control-Allow-Methods"] == nil && reply["Access-Control-Allow-Headers"] == nil, "\(path)")
        }
    }

    @Test("admin, open and missing routes send no CORS field, even to an allowed origin")
    func routesOfOtherClasses_haveNoField() async throws {
        let world = try await Self.world()
        for line in [
            "GET /healthz", "POST /v2/repository/index", "POST /v2/repository/models/m/unload", "GET /nothing",
        ] {
            let reply = try await world.answer(line, fields: "\nOrigin: https://app.example")
            #expect(Self.corsFields(reply).isEmpty, "\(line)")
        }
    }

    /// A browser sends a preflight without a token; the actual request needs one.
    @Test("a preflight needs no token, but the request after the preflight does")
    func aPreflight_needsNoToken() async throws {
        let world = try await Self.world()
        var settings = Settings()
        settings.corsOrigins = ["https://app.example"]
        let tokens = TokenFile(text: "read 0123456789abcdef", name: "t")
        world.service.use(LiveSettings(settings: settings, access: AccessControl(tokens)))
        let fields = "\nOrigin: https://app.example\nAccess-Control-Request-Method: GET"
        #expect(try await world.answer("OPTIONS /v1/models", fields: fields).status == 204)
        let refused = try await world.answer("GET /v1/models", fields: fields)
        #expect(refused.status == 401 && refused["Access-Control-Allow-Origin"] == "https://app.example")
        let taken = try await world.answer(
            "GET /v1/models", fields: fields + "\nAuthorization: Bearer 0123456789abcdef")
        #expect(taken.status == 200)
    }

    @Test(
        "cors_origins accepts origins as browsers send them, a star, or an empty list",
        arguments: [
            ["https://app.example"], ["http://localhost:3000", "https://a-b.example:8443"], ["http://[::1]:8080"],
            ["*"],
            [],
            ["chrome-extension://abcdefghij"], ["capacitor://localhost"],
        ])
    func originsOfTheSetting(_ origins: [String]) { #expect(CORSPolicy.problem(with: origins) == nil) }

    @Test(
        "cors_origins refuses an origin that no browser sends, and the message names the origin",
        arguments: [
            "app.example", "https://app.example/", "https://app.example/x", "https://", "null", "HTTPS://app.example",
            "https://App.example", "https://*.example", "https://app.example:443", "http://app.example:80",
            "http://a:0",
            "http://a:99999", "http://a:08", "http://u@a", "http://a b", "", "://a", "http://[::1",
        ])
    func whatNoBrowserSends_isRefused(_ origin: String) throws {
        let problem = try #require(CORSPolicy.problem(with: [origin]))
        #expect(problem.contains("\"\(origin)\"") && problem.contains("cors_origins"))
    }

    @Test("cors_origins refuses a star combined with other origins")
    func aStarAmongOthers_isRefused() {
        #expect(CORSPolicy.problem(with: ["*", "https://app.example"])?.contains("cannot be combined") == true)
    }
}

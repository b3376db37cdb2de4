import InferenceService
import Testing

/// Any text may be a path: also none, for a request whose first line never came.
@Suite struct RouteTests {
    @Test(arguments: [
        "", "*", "/", "//", "///", "x", "v2", "/v2", "/v2/", "/v2//", "/v1", "/v1/", "/v1/models/", "/v1/models//",
        "/v1/models//classify", "/v1/models/m/versions", "/v1/models/m/versions/", "/v1/models/m/versions//classify",
        "/v2/models", "/v2/models/", "/v2/models//infer", "/v2/models/m/versions", "/v2/models/m/versions/",
        "/v2/repository", "/v2/repository/models//load", "/\u{0}", "/é", "/..", "/v1/models/../x",
    ])
    func noPathIsTooOdd(_ path: String) {
        // What matters is that it comes back at all.
        let label = Route(path: path)?.label ?? ""
        #expect(label.isEmpty || label.hasPrefix("/"))
    }

    @Test(arguments: [
        ("/healthz", [AccessClass]()), ("/readyz", []), ("/v2/health/live", []), ("/v2/health/ready", []),
        ("/v2/models/m/ready", []), ("/v2/models/m/versions/1/ready", []), ("/", [.infer, .read]),
        ("/v1/classify", [.infer]), ("/v1/detect", [.infer]), ("/v1/models/m/predict", [.infer]),
        ("/v2/models/m/infer", [.infer]), ("/metrics", [.read]), ("/v1/models", [.read]), ("/v2", [.read]),
        ("/v2/models/m", [.read]), ("/v2/models/stats", [.read]), ("/openapi.json", [.read]),
        ("/v2/repository/index", [.admin]), ("/v2/repository/models/m/load", [.admin]),
        ("/v2/repository/models/m/unload", [.admin]),
    ])
    func listenersServeClassesOfRoutes(_ path: String, classes: [AccessClass]) throws {
        #expect(try #require(Route(path: path)).listenerClasses == Set(classes))
    }

    @Test func pathsAreRecognised() {
        #expect(Route(path: "/") == .page)
        #expect(Route(path: "/v2") == .openInference(.server))
        #expect(Route(path: "/v1/models/m") == .model(name: "m", version: nil))
        #expect(Route(path: "/v1/models/m/versions/2/classify") == .classify(model: "m", version: "2"))
        #expect(Route(path: "") == nil)
        #expect(Route(path: "*") == nil)
    }

    /// What a path without a resource was meant for, as people and clients of other servers write it.
    @Test(
        arguments: [
            ("/classify", "/v1/classify"), ("/v1/modles", "/v1/models"),
            ("/v1/models/x:predict", "/v1/models/x/predict"),
            ("/v1/classify/", "/v1/classify"), ("/V1/Classify", "/v1/classify"), ("/v1//classify", "/v1/classify"),
            ("/v1/clasify", "/v1/classify"), ("/models", "/v1/models"), ("/v1/model/x", "/v1/models/x"),
            ("/models/x/predict", "/v1/models/x/predict"), ("/predict", "/v1/models/{name}/predict"),
            ("/v1/predict", "/v1/models/{name}/predict"), ("/v2/infer", "/v2/models/{name}/infer"),
            ("/v1", "/v1/models"), ("/infer", "/v2/models/{name}/infer"),
            ("/v1/models/x/infer", "/v2/models/x/infer"), ("/v2/models/x/predict", "/v1/models/x/predict"),
            ("/v1/models/x/versions/3:classify", "/v1/models/x/versions/3/classify"),
            ("/v1/models/x/version/3/classify", "/v1/models/x/versions/3/classify"),
            ("/health", "/healthz"), ("/ready", "/readyz"), ("/metric", "/metrics"), ("/openapi", "/openapi.json"),
            ("/v2/health", nil), ("/v2/health/liv", "/v2/health/live"),
            ("/v2/repository/models/x/reload", nil), ("/v2/repository/models/x/unlod", nil),
            ("/v1/nothing", nil), ("/favicon.ico", nil), ("/wp-login.php", nil), ("/x", nil), ("/", nil), ("", nil),
            ("/v1/models/m/\u{202E}", nil), ("/:predict", "/v1/models/{name}/predict"),
            ("/v1/classify/a/b/c/d/e/f/g/h", nil),
        ] as [(String, String?)])
    func theNearestIsOffered(_ path: String, _ expected: String?) {
        #expect(NearestRoute.path(near: path) == expected)
    }

    @Test func whatIsOfferedIsThere() {
        for path in ["/classify", "/v1/modles/a b/classify", "/v2/models/x/sats", "/models/%41/versions/1/embedd"] {
            let found = NearestRoute.path(near: path)
            #expect(found.flatMap { Route(path: $0) } != nil, "\(path): \(found ?? "nothing")")
        }
        let long = "/v1/models/" + String(repeating: "x", count: 300) + "/clasify"
        #expect(NearestRoute.path(near: long) == nil)
        #expect(NearestRoute.path(near: String(repeating: "/", count: 8000)) == nil)
    }
}

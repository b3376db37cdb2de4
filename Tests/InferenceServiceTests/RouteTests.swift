import HTTPWire
import InferenceService
internal import ServiceCore
internal import ServicePlanning
import Testing

/// Any text may be a path, even an empty one: a request may end before its first line.
@Suite struct RouteTests {
    @Test(
        "matching an odd or empty path does not trap",
        arguments: [
            "", "*", "/", "//", "///", "x", "v2", "/v2", "/v2/", "/v2//", "/v1", "/v1/", "/v1/models/", "/v1/models//",
            "/v1/models//classify", "/v1/models/m/versions", "/v1/models/m/versions/",
            "/v1/models/m/versions//classify",
            "/v2/models", "/v2/models/", "/v2/models//infer", "/v2/models/m/versions", "/v2/models/m/versions/",
            "/v2/repository", "/v2/repository/models//load", "/\u{0}", "/é", "/..", "/v1/models/../x",
        ])
    func noPathIsTooOdd(_ path: String) {
        // The test is that it returns at all.
        let label = Service.routes.match(path)?.resource.label ?? ""
        #expect(label.isEmpty || label.hasPrefix("/"))
    }

    @Test(
        "each route has its listener classes, and health routes have none",
        arguments: [
            ("/healthz", [AccessClass]()), ("/readyz", []), ("/v2/health/live", []), ("/v2/health/ready", []),
            ("/v2/models/m/ready", []), ("/v2/models/m/versions/1/ready", []), ("/", [.infer, .read]),
            ("/v1/classify", [.infer]), ("/v1/detect", [.infer]), ("/v1/models/m/predict", [.infer]),
            ("/v2/models/m/infer", [.infer]), ("/metrics", [.read]), ("/v1/models", [.read]), ("/v2", [.read]),
            ("/v1/taught", [.read]), ("/v1/taught/m/classes", [.teach]), ("/v1/taught/m/examples/1", [.teach]),
            ("/v1/taught/m/examples", [.teach]), ("/v1/taught/m/versions/1/serve", [.teach]),
            ("/v1/taught/m/search", [.teach]), ("/v1/taught/m/export", [.teach]),
            ("/v2/models/m", [.read]), ("/v2/models/stats", [.read]), ("/openapi.json", [.read]),
            ("/v2/repository/index", [.admin]), ("/v2/repository/models/m/load", [.admin]),
            ("/v2/repository/models/m/unload", [.admin]),
        ])
    func listenersServeClassesOfRoutes(_ path: String, classes: [AccessClass]) throws {
        let resource = try #require(Service.routes.match(path)).resource
        for method in resource.methods { #expect(resource.listenerClasses(of: method) == Set(classes)) }
    }

    @Test("a listener must have the class read to show a rollout, and admin to change it")
    func listenersServeRolloutsByMethod() throws {
        let resource = try #require(Service.routes.match("/v1/models/m/rollout")).resource
        #expect(resource.label == "/v1/models/{name}/rollout" && resource.methods.count == 3)
        let rows: [(HTTPMethod, AccessClass)] = [(.get, .read), (.put, .admin), (.delete, .admin)]
        for (method, wanted) in rows {
            let row = try #require(resource.method(method))
            #expect(resource.listenerClasses(of: row) == [wanted], "\(method)")
        }
    }

    @Test(
        "a path gives its resource, model name and version",
        arguments: [
            ("/", "/", "", nil), ("/v2", "/v2", "", nil), ("/v2/", "/v2", "", nil),
            ("/v1/classify", "/v1/classify", "", nil), ("/v1/models", "/v1/models", "", nil),
            ("/v1/models/m", "/v1/models/{name}", "m", nil),
            ("/v1/models/m/rollout", "/v1/models/{name}/rollout", "m", nil),
            ("/v1/models/m/versions/2", "/v1/models/{name}", "m", "2"),
            ("/v1/models/m/versions/2/classify", "/v1/classify", "m", "2"),
            ("/v1/models/m/embed", "/v1/embed", "m", nil),
            ("/v1/taught/m/examples/7f", "/v1/taught/{name}/examples/{id}", "m", nil),
            ("/v1/taught/m/versions/2/serve", "/v1/taught/{name}/versions/{version}/serve", "m", "2"),
            ("/v1/models/a b/predict", "/v1/models/{name}/predict", "a b", nil),
            ("/v2/models/stats", "/v2/models/{name}/stats", "", nil),
            ("/v2/models/m/stats", "/v2/models/{name}/stats", "m", nil),
            ("/v2/models/stats/versions/1/infer", "/v2/models/{name}/infer", "stats", "1"),
        ] as [(String, String, String, String?)])
    func aPath_namesItsResourceModelAndVersion(_ path: String, _ label: String, _ name: String, _ version: String?)
        throws
    {
        let match = try #require(Service.routes.match(path))
        #expect(match.resource.label == label)
        #expect(match.path.name == name)
        #expect(match.path.version == version)
    }

    @Test(
        "a path without a resource matches no route",
        arguments: [
            "", "*", "/v1", "/v3", "/v1/models/", "/v1/models//classify", "/v1/models/m/versions",
            "/v1/models/m/versions/",
            "/v1/models/m/versions//classify", "/v2/models", "/v2/models//infer", "/v2/repository/models//load",
            "/v1/classify/",
            "/v1/models/m/versions/1/classify/x", "/v1/models/m/classify/x", "v1/classify",
        ])
    func aPathWithoutAResource_isNotFound(_ path: String) {
        #expect(Service.routes.match(path)?.resource.label == nil)
    }

    @Test("a resource allows the methods of its row in the route table")
    func methods_areThoseOfTheRow() throws {
        let models = try #require(Service.routes.match("/v1/models")).resource
        #expect(models.allowed == [.get, .head])
        #expect(models.method(.head)?.operation == "models")
        #expect(models.method(.post)?.operation == nil)
        #expect(try #require(Service.routes.match("/v1/classify")).resource.allowed == [.post])
    }

    /// The intended paths for frequent mistakes of people, and for paths of other servers.
    @Test(
        "the nearest existing path is suggested for a mistyped path, and none for a strange path",
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
            ("/v1/x/classify", "/v1/models/x/classify"), ("/x/classify", "/v1/models/x/classify"), ("/v1/nothing", nil),
            ("/favicon.ico", nil), ("/wp-login.php", nil), ("/x", nil), ("/", nil), ("", nil),
            ("/v1/models/m/\u{202E}", nil), ("/:predict", "/v1/models/{name}/predict"),
            ("/v1/classify/a/b/c/d/e/f/g/h", nil),
        ] as [(String, String?)])
    func theNearestIsOffered(_ path: String, _ expected: String?) {
        #expect(Service.nearest.path(near: path) == expected)
    }

    @Test("a suggested path matches a route, and overlong paths get no suggestion")
    func whatIsOfferedIsThere() {
        for path in ["/classify", "/v1/modles/a b/classify", "/v2/models/x/sats", "/models/%41/versions/1/embedd"] {
            let found = Service.nearest.path(near: path)
            #expect(found.flatMap { Service.routes.match($0)?.resource.label } != nil, "\(path): \(found ?? "nothing")")
        }
        let long = "/v1/models/" + String(repeating: "x", count: 300) + "/clasify"
        #expect(Service.nearest.path(near: long) == nil)
        #expect(Service.nearest.path(near: String(repeating: "/", count: 8000)) == nil)
    }
}

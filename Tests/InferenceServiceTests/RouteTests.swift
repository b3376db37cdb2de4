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

    @Test func pathsAreTold() {
        #expect(Route(path: "/") == .page)
        #expect(Route(path: "/v2") == .openInference(.server))
        #expect(Route(path: "/v1/models/m") == .model(name: "m", version: nil))
        #expect(Route(path: "/v1/models/m/versions/2/classify") == .classify(model: "m", version: "2"))
        #expect(Route(path: "") == nil)
        #expect(Route(path: "*") == nil)
    }
}

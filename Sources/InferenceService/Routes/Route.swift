package import HTTPWire
package import Inference

/// What a request asks for: one case per resource of API.md.
package enum Route: Sendable, Hashable {
    case page
    case health
    case readiness
    case metrics
    case models
    case model(name: String, version: String?)
    case classify(model: String?, version: String?)
    case predict(model: String, version: String?)
    /// Boxes, a mask, keypoints or an embedding.
    case observe(ObservationTask, model: String?, version: String?)
    case openInference(OpenInferenceRoute)
    case openAPI

    /// The resource of a path, or nil if there is none. The path is already percent-decoded; names in it are looked up
    /// in tables and never reach the file system.
    package init?(path: String) {
        // The most frequent path is recognised without splitting it.
        switch path {
        case "/v1/classify":
            self = .classify(model: nil, version: nil)
            return
        case "/healthz":
            self = .health
            return
        case "/readyz":
            self = .readiness
            return
        default: break
        }
        // No resource is deeper, and what a client can make long is not taken apart before that is known.
        let slash = UInt8(ascii: "/")
        guard path.utf8.count(where: { $0 == slash }) <= Self.deepest else { return nil }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        switch parts.count {
        case 1 where parts[0].isEmpty: self = .page
        case 1 where parts[0] == "healthz": self = .health
        case 1 where parts[0] == "readyz": self = .readiness
        case 1 where parts[0] == "metrics": self = .metrics
        case 1 where parts[0] == "openapi.json": self = .openAPI
        case _ where parts.first == "v2":
            guard let route = OpenInferenceRoute(Array(parts.dropFirst())) else { return nil }
            self = .openInference(route)
        case 2 where parts == ["v1", "models"]: self = .models
        case 2 where parts == ["v1", "classify"]: self = .classify(model: nil, version: nil)
        case 2 where parts[0] == "v1":
            guard let task = ObservationTask(rawValue: parts[1]) else { return nil }
            self = .observe(task, model: nil, version: nil)
        case 3... where parts[0] == "v1" && parts[1] == "models" && !parts[2].isEmpty:
            guard let route = Self.ofModel(parts[2], Array(parts.dropFirst(3))) else { return nil }
            self = route
        default: return nil
        }
    }

    /// Slashes of the deepest resource: /v1/models/{name}/versions/{version}/predict.
    private static let deepest = 6

    private static func ofModel(_ name: String, _ rest: [String]) -> Route? {
        switch rest {
        case []: return .model(name: name, version: nil)
        case ["classify"]: return .classify(model: name, version: nil)
        case ["predict"]: return .predict(model: name, version: nil)
        default: break
        }
        if rest.count == 1, let task = ObservationTask(rawValue: rest[0]) {
            return .observe(task, model: name, version: nil)
        }
        guard rest.count >= 2, rest[0] == "versions", !rest[1].isEmpty else { return nil }
        switch Array(rest.dropFirst(2)) {
        case []: return .model(name: name, version: rest[1])
        case ["classify"]: return .classify(model: name, version: rest[1])
        case ["predict"]: return .predict(model: name, version: rest[1])
        default:
            guard rest.count == 3, let task = ObservationTask(rawValue: rest[2]) else { return nil }
            return .observe(task, model: name, version: rest[1])
        }
    }

    /// Made once: asked for with each request.
    private static let reading: [HTTPMethod] = [.get, .head]
    private static let posting: [HTTPMethod] = [.post]

    /// The methods that the resource has.
    package var methods: [HTTPMethod] {
        switch self {
        case .classify, .predict, .observe: Self.posting
        case .openInference(let route): route.methods
        default: Self.reading
        }
    }

    /// The resource's name for metrics and logs: without anything of the request.
    package var label: String {
        switch self {
        case .page: "/"
        case .health: "/healthz"
        case .readiness: "/readyz"
        case .metrics: "/metrics"
        case .models: "/v1/models"
        case .model: "/v1/models/{name}"
        case .classify: "/v1/classify"
        case .predict: "/v1/models/{name}/predict"
        case .observe(let task, _, _): "/v1/\(task.rawValue)"
        case .openInference(let route): route.label
        case .openAPI: "/openapi.json"
        }
    }
}

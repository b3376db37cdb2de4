package import HTTPWire

/// The resources of the Open Inference Protocol's version 2 over REST, and of Triton's extensions that are served.
package enum OpenInferenceRoute: Sendable, Hashable {
    case server
    case live
    case ready
    case model(name: String, version: String?)
    case modelReady(name: String, version: String?)
    case modelConfiguration(name: String, version: String?)
    case infer(name: String, version: String?)
    case statistics(name: String?, version: String?)
    case index
    case load(name: String)
    case unload(name: String)

    /// The resource of a path's parts after `v2`, or nil if there is none.
    package init?(_ parts: [String]) {
        switch parts {
        case [], [""]: self = .server
        case ["health", "live"]: self = .live
        case ["health", "ready"]: self = .ready
        case ["models", "stats"]: self = .statistics(name: nil, version: nil)
        case ["repository", "index"]: self = .index
        default:
            guard parts.count >= 2, let route = Self.ofModel(parts) else { return nil }
            self = route
        }
    }

    private static func ofModel(_ parts: [String]) -> OpenInferenceRoute? {
        if parts.count == 4, parts[0] == "repository", parts[1] == "models", !parts[2].isEmpty {
            switch parts[3] {
            case "load": return .load(name: parts[2])
            case "unload": return .unload(name: parts[2])
            default: return nil
            }
        }
        guard parts[0] == "models", !parts[1].isEmpty else { return nil }
        var rest = parts.dropFirst(2)
        var version: String?
        if rest.first == "versions" {
            guard let named = rest.dropFirst().first, !named.isEmpty else { return nil }
            version = named
            rest = rest.dropFirst(2)
        }
        switch Array(rest) {
        case []: return .model(name: parts[1], version: version)
        case ["ready"]: return .modelReady(name: parts[1], version: version)
        case ["config"]: return .modelConfiguration(name: parts[1], version: version)
        case ["infer"]: return .infer(name: parts[1], version: version)
        case ["stats"]: return .statistics(name: parts[1], version: version)
        default: return nil
        }
    }

    /// The methods that the resource has.
    package var methods: [HTTPMethod] {
        switch self {
        case .infer, .index, .load, .unload: [.post]
        default: [.get, .head]
        }
    }

    /// The resource's name for metrics and logs: without anything of the request.
    package var label: String {
        switch self {
        case .server: "/v2"
        case .live: "/v2/health/live"
        case .ready: "/v2/health/ready"
        case .model: "/v2/models/{name}"
        case .modelReady: "/v2/models/{name}/ready"
        case .modelConfiguration: "/v2/models/{name}/config"
        case .infer: "/v2/models/{name}/infer"
        case .statistics: "/v2/models/{name}/stats"
        case .index: "/v2/repository/index"
        case .load: "/v2/repository/models/{name}/load"
        case .unload: "/v2/repository/models/{name}/unload"
        }
    }
}

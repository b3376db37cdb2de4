/// What a request wants to do: tokens open classes of routes, and not single routes.
package enum AccessClass: String, Sendable, CaseIterable {
    /// Predictions.
    case infer
    /// Models, metrics, descriptions.
    case read
    /// Loading and unloading models.
    case admin
}

extension Route {
    /// The class of the route; nil for those that are always open, because a balancer or a browser asks for them. Each case is named:
    /// a new route gets its class by decision.
    package var accessClass: AccessClass? {
        switch self {
        case .page, .health, .readiness: nil
        case .classify, .predict, .observe: .infer
        case .metrics, .models, .model, .openAPI: .read
        case .openInference(let route): route.accessClass
        }
    }
}

extension OpenInferenceRoute {
    /// The class of the route.
    fileprivate var accessClass: AccessClass {
        switch self {
        case .infer: .infer
        case .server, .live, .ready, .model, .modelReady, .modelConfiguration, .statistics: .read
        // The index may name models that are not loaded, and is for those who load them.
        case .index, .load, .unload: .admin
        }
    }
}

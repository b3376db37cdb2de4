internal import HTTPWire

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
    /// The class of the route; nil for those that are always open, because a balancer or a browser asks for them.
    package var accessClass: AccessClass? {
        switch self {
        case .page, .health, .readiness: nil
        case .classify, .predict, .observe: .infer
        default: label.contains("/repository/") ? .admin : methods.contains(.post) ? .infer : .read
        }
    }
}

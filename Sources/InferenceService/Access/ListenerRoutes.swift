internal import HTTPWire

/// Which routes a listener has: the option `routes` of `listen`. Metrics and administration can so have their own port.
package struct ListenerRoutes: Sendable {
    /// By listener; nil if it has all routes.
    let classes: [Set<AccessClass>?]

    /// Every listener has all routes.
    package static let all = ListenerRoutes(classes: [])

    /// Refuses a request for a route that its listener does not have.
    /// - Parameter listener: its place in the setting `listen`.
    func check(_ route: Route, of head: RequestHead, listener: Int) throws(ServiceError) {
        guard listener < classes.count, let classes = classes[listener],
            !route.listenerClasses.isSubset(of: classes)
        else { return }
        let names = AccessClass.allCases.filter(classes.contains).map(\.rawValue).joined(separator: ", ")
        throw ServiceError(
            .notFound,
            "\(head.target.path.prefix(200)) is not served at this address, which serves only the routes of \(names) (listen)",
            label: "not_on_listener")
    }
}

extension Route {
    /// The classes that a listener must have to serve the route. What balancers and kubelets probe is served at every address; the
    /// page asks for predictions and for descriptions.
    package var listenerClasses: Set<AccessClass> {
        switch self {
        case .health, .readiness: []
        case .openInference(.live), .openInference(.ready), .openInference(.modelReady): []
        case .page: [.infer, .read]
        default: accessClass.map { [$0] } ?? []
        }
    }
}

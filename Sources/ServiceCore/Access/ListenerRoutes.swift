package import HTTPWire
package import ServicePlanning
package import WireFormats

/// The routes that each listener serves: the option `routes` of `listen`. It allows a separate port for metrics and
/// administration.
package struct ListenerRoutes: Sendable {
    /// The classes of routes by listener; nil for all.
    package let classes: [Set<AccessClass>?]

    package init(classes: [Set<AccessClass>?]) {
        self.classes = classes
    }

    /// All routes on every listener.
    package static let all = ListenerRoutes(classes: [])

    /// Refuses a request if its listener does not serve the route and method.
    /// - Parameters:
    ///   - needed: the classes that a listener must serve; evaluated only if the listener is restricted.
    ///   - listener: the listener's index in the setting `listen`.
    package func check(
        _ needed: @autoclosure () -> Set<AccessClass>, of head: RequestHead, listener: Int
    ) throws(ServiceError) {
        guard listener < classes.count, let classes = classes[listener], !needed().isSubset(of: classes) else { return }
        let names = AccessClass.allCases.filter(classes.contains).map(\.rawValue).joined(separator: ", ")
        throw ServiceError(
            .notFound,
            "\(head.target.path.prefix(200)) is not served at this address, which serves only the routes of \(names) (listen)",
            label: "not_on_listener")
    }
}

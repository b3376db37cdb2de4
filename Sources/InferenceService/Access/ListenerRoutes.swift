internal import HTTPWire

/// The routes that a listener has: the option `routes` of `listen`. Metrics and administration can so have their own
/// port.
package struct ListenerRoutes: Sendable {
    /// By listener; nil if it has all routes.
    let classes: [Set<AccessClass>?]

    /// Every listener has all routes.
    package static let all = ListenerRoutes(classes: [])

    /// Refuses a request for a method that its listener does not have.
    /// - Parameters:
    ///   - wanted: the classes that a listener must have to serve it; asked for only where it has not all.
    ///   - listener: its place in the setting `listen`.
    func check(
        _ wanted: @autoclosure () -> Set<AccessClass>, of head: RequestHead, listener: Int
    ) throws(ServiceError) {
        guard listener < classes.count, let classes = classes[listener], !wanted().isSubset(of: classes) else { return }
        let names = AccessClass.allCases.filter(classes.contains).map(\.rawValue).joined(separator: ", ")
        throw ServiceError(
            .notFound,
            "\(head.target.path.prefix(200)) is not served at this address, which serves only the routes of \(names) (listen)",
            label: "not_on_listener")
    }
}

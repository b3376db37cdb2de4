package import Settings

/// The fields of an answer that depend on its route, even if the request is refused.
package struct Place: Sendable {
    /// The resource's name for the metrics.
    package var label = "none"
    /// The dialect of errors; nil for Ocelli's own.
    package var dialect: Dialect?
    /// The fields for pages of other origins; empty if they may not use the route.
    package var fields: [(name: String, value: String)] = []

    package init() {}
}

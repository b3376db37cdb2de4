package import LoadGenerator

/// The request of `ocelli load`.
package struct LoadRequest: Sendable {
    /// The kind of load.
    package enum Mode: Sendable {
        /// As many concurrent requests as connections.
        case closed
        /// At each of these rates in turn.
        case rates([Double])
        /// At rates around the rate of a closed loop.
        case automatic
    }

    package var url = ""
    package var mode = Mode.closed
    /// The objective that must hold: at the rates of ``mode``, otherwise at the highest rate that is found.
    package var objective: ServiceObjective?
    package var pictures: [String] = []
    /// True to send a GET without a body.
    package var isGet = false
    /// The number of concurrent requests in a closed loop (default 8), or the maximum number of connections in an open
    /// loop (default 256).
    package var connections: Int?
    package var seconds = 10.0
    package var warmUp = 1.0
    package var timeout = 30.0
    package var keepAlive = true
    /// Additional fields of each request, as `Name: value`.
    package var fields: [String] = []
    /// True if the report is JSON.
    package var isJSON = false
    /// The files for the report as an HTML page and as an SVG picture.
    package var htmlFile: String?, svgFile: String?

    package init() {}
}

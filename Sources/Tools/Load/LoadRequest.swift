internal import InferenceService
package import LoadGenerator

/// The request of `ocelli load`.
package struct LoadRequest: Sendable {
    /// The way in which the loads are made.
    package enum Mode: Sendable {
        /// As many requests at once as there are connections.
        case closed
        /// At each of these rates in turn.
        case rates([Double])
        /// At rates around what a closed loop gets.
        case automatic
    }

    package var url = ""
    package var mode = Mode.closed
    /// The objective that must hold: at the rates of ``mode``, or else at the highest rate that is found.
    package var objective: ServiceObjective?
    package var pictures: [String] = []
    /// True if a GET without a body is sent.
    package var isGet = false
    /// Connections: as many at once (closed loop: 8), or at most (open loop: 256), unless said.
    package var connections: Int?
    package var seconds = 10.0
    package var warmUp = 1.0
    package var timeout = 30.0
    package var keepAlive = true
    /// Further fields of each request, as `Name: value`.
    package var fields: [String] = []
    /// True if the report is JSON.
    package var isJSON = false
    /// The files for the report as a page and as a picture.
    package var htmlFile: String?, svgFile: String?

    package init() {}
}

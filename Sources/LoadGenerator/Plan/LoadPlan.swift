/// One load to be made: at a rate, or as fast as a number of connections gets answers.
package struct LoadPlan: Sendable, Hashable {
    package enum Loop: Sendable, Hashable {
        /// Requests are sent when they are due.
        case open(rate: Double)
        /// Each connection sends its next request when it has the answer to the last one.
        case closed
    }

    package var loop: Loop
    /// Connections at once: as many as there are in a closed loop, as many as may be needed in an open one.
    package var connections: Int
    /// Seconds that are measured, and before them seconds that are not.
    package var seconds: Double
    package var warmUp: Double
    /// Seconds after which a request is given up.
    package var timeout: Double
    /// True if connections are used again.
    package var keepAlive: Bool

    package init(
        loop: Loop, connections: Int, seconds: Double = 10, warmUp: Double = 1, timeout: Double = 30,
        keepAlive: Bool = true
    ) {
        self.loop = loop
        self.connections = connections
        self.seconds = seconds
        self.warmUp = warmUp
        self.timeout = timeout
        self.keepAlive = keepAlive
    }

    // What may be asked for.
    package static let connectionBounds = 1...4096
    package static let rateBounds = 0.1...200_000.0
    package static let secondsBounds = 0.1...3600.0
    package static let warmUpBounds = 0.0...600.0
    package static let timeoutBounds = 0.01...600.0
    package static let mostSteps = 32
}

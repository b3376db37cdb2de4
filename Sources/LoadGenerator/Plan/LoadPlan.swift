/// A load to generate: at a given rate, or as fast as a number of connections gets answers.
package struct LoadPlan: Sendable, Hashable {
    package enum Loop: Sendable, Hashable {
        /// Requests are sent at their due times.
        case open(rate: Double)
        /// Each connection sends its next request when it has the answer to the last one.
        case closed
    }

    package var loop: Loop
    /// The number of connections: fixed in a closed loop, the maximum in an open one.
    package var connections: Int
    /// The length of the measured period and of the warm-up before it, in seconds.
    package var seconds: Double
    package var warmUp: Double
    /// The time after which a request is abandoned, in seconds.
    package var timeout: Double
    /// True if connections are reused.
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

    // The valid parameters.
    package static let connectionBounds = 1...4096
    package static let rateBounds = 0.1...200_000.0
    package static let secondsBounds = 0.1...3600.0
    package static let warmUpBounds = 0.0...600.0
    package static let timeoutBounds = 0.01...600.0
    package static let maximumSteps = 32
}

/// The limits of a connection, in nanoseconds and bytes.
///
/// The event loop counts time as `UInt64` nanoseconds of `CLOCK_MONOTONIC`: it adds and compares times for each
/// request, and `Duration` computes with 128 bits. Outside this module times are `MonotonicInstant`.
package struct ConnectionPolicy: Sendable {
    package var headerTimeout: UInt64
    package var idleTimeout: UInt64
    package var bodyGrace: UInt64
    /// The minimum number of bytes of a body per `bodyGrace`.
    package var bodyBytesPerGrace: UInt64
    /// The maximum time to receive a body, not counting waits for room.
    package var bodyTimeout: UInt64
    package var bodyBudgetTimeout: UInt64
    /// The time that a body waits for room before slower bodies are refused.
    package var bodyMemoryTimeout: UInt64
    package var writeTimeout: UInt64
    package var lingerTimeout: UInt64
    package var lingerTotal: UInt64
    package var lingerBytes: UInt64
    package var probesHalfClosed: Bool
    package var maxRequests: Int

    package init(_ configuration: HTTPServerConfiguration) {
        headerTimeout = nanoseconds(configuration.headerTimeout)
        idleTimeout = nanoseconds(configuration.idleTimeout)
        bodyGrace = max(1, nanoseconds(configuration.bodyGrace))
        let (product, overflow) = UInt64(max(0, configuration.minBodyRate))
            .multipliedReportingOverflow(by: bodyGrace / 1_000_000)
        bodyBytesPerGrace = overflow ? .max : product / 1000
        bodyTimeout = nanoseconds(configuration.bodyTimeout)
        bodyBudgetTimeout = nanoseconds(configuration.bodyBudgetTimeout)
        bodyMemoryTimeout = nanoseconds(configuration.bodyMemoryTimeout)
        writeTimeout = nanoseconds(configuration.writeTimeout)
        lingerTimeout = nanoseconds(configuration.lingerTimeout)
        lingerTotal = nanoseconds(configuration.lingerTotal)
        lingerBytes = UInt64(max(0, configuration.lingerBytes))
        probesHalfClosed = configuration.probesHalfClosed
        maxRequests = max(1, configuration.maxRequestsPerConnection)
    }
}

/// The duration in whole nanoseconds, limited to 0 to about 136 years, so that the sum of two does not overflow.
package func nanoseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let limit: Int64 = 1 << 32
    return UInt64(min(seconds, limit)) &* 1_000_000_000 &+ UInt64(attoseconds / 1_000_000_000)
}

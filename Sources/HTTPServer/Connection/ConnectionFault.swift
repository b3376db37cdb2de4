package import HTTPWire

/// A client's violation of a limit or of the protocol, other than a syntax error.
package enum ConnectionFault: Sendable, Hashable {
    /// The head did not arrive within the header timeout.
    case slowHead
    /// The body arrived more slowly than the minimum rate.
    case slowBody
    /// The body did not arrive within the body timeout.
    case lateBody
    /// The body was among the slowest while there was no room for all bodies.
    case slowestBody
    /// The body found no room within the budget timeout.
    case noBudget
    /// The request waited too long for an ordinary place among the connections.
    case noPlace
    /// The body, or its announced length, exceeds this limit.
    case bodyTooLarge(limit: UInt64, declared: UInt64?)
    /// A chunk of this size would make the body exceed its limit.
    case chunkTooLarge(limit: UInt64, size: UInt64)
    /// The client closed its side before the head was complete.
    case headTruncated
    /// The client closed its side before the body was complete.
    case bodyTruncated

    /// True for a timeout; the statistics count these separately.
    package var isTimeout: Bool {
        switch self {
        case .slowHead, .slowBody, .lateBody, .slowestBody, .noBudget, .noPlace: true
        case .bodyTooLarge, .chunkTooLarge, .headTruncated, .bodyTruncated: false
        }
    }

    /// The error that the client receives.
    package var error: WireError {
        switch self {
        case .slowHead:
            WireError(
                .requestTimeout,
                message: "the request head did not arrive within header_timeout", label: "slow_head")
        case .slowBody:
            WireError(
                .requestTimeout,
                message: "the request body arrives more slowly than min_body_rate allows", label: "slow_body")
        case .lateBody:
            WireError(
                .requestTimeout,
                message: "the request body did not arrive within body_timeout", label: "late_body")
        case .slowestBody:
            WireError(
                .requestTimeout,
                message:
                    "there is no memory for all request bodies, and this one is among the slowest",
                label: "slowest_body")
        case .noBudget:
            WireError(
                .overloaded,
                message: "the server has reached its limit for request bodies; try again", label: "no_budget")
        case .noPlace:
            WireError(
                .overloaded,
                message: "the server has reached its limit for connections (max_connections); try again",
                label: "no_place")
        case .bodyTooLarge(let limit, let declared):
            WireError(
                .bodyTooLarge,
                message: "the body exceeds the limit of \(limit) bytes: "
                    + (declared.map { "Content-Length says \($0)" } ?? "more arrived"), label: "body_too_large")
        case .chunkTooLarge(let limit, let size):
            WireError(
                .bodyTooLarge,
                message:
                    "the body exceeds the limit of \(limit) bytes: the next chunk has \(size) bytes",
                label: "body_too_large")
        case .headTruncated:
            WireError(
                .badRequest,
                message: "the client closed its side of the connection before the request head was complete",
                label: "head_truncated")
        case .bodyTruncated:
            WireError(
                .badRequest,
                message: "the client closed its side of the connection before the body was complete",
                label: "body_truncated")
        }
    }
}

package import HTTPWire

/// A client's violation of limits or protocol, apart from syntax.
package enum ConnectionFault: Sendable, Hashable {
    /// The head did not arrive in time.
    case slowHead
    /// The body arrived at less than the minimum rate.
    case slowBody
    /// The body did not arrive within the maximum time.
    case lateBody
    /// The body was the slowest while there was no room for all bodies.
    case slowestBody
    /// There was no room for the body in time.
    case noBudget
    /// The request waited for an ordinary place among the connections, in vain.
    case noPlace
    /// The body exceeds this limit, or its announced length does.
    case bodyTooLarge(limit: UInt64, declared: UInt64?)
    /// With a chunk of this size the body would exceed its limit.
    case chunkTooLarge(limit: UInt64, size: UInt64)
    /// The client closed its side within the head.
    case headTruncated
    /// The client closed its side within the body.
    case bodyTruncated

    /// True if it is a timeout, for the statistics.
    package var isTimeout: Bool {
        switch self {
        case .slowHead, .slowBody, .lateBody, .slowestBody, .noBudget, .noPlace: true
        case .bodyTooLarge, .chunkTooLarge, .headTruncated, .bodyTruncated: false
        }
    }

    /// The error for the client.
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

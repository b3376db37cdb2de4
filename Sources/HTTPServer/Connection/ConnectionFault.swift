package import HTTPWire

/// What the state machine finds wrong with a client's behaviour, apart from its syntax.
package enum ConnectionFault: Sendable, Hashable {
    /// The head did not come in time.
    case slowHead
    /// The body came slower than the minimum rate.
    case slowBody
    /// The body did not come whole in the time that a body has.
    case lateBody
    /// The body came more slowly than the others while there was no room for all of them.
    case slowestBody
    /// No room for the body's bytes came free in time.
    case noBudget
    /// The body is longer than this, or says that it will be, and how long.
    case bodyTooLarge(limit: UInt64, declared: UInt64?)
    /// A chunk of the body says that it is so long, and the body would be longer than its limit.
    case chunkTooLarge(limit: UInt64, size: UInt64)
    /// The client ended its side in the middle of the head.
    case headTruncated
    /// The client ended its side in the middle of the body.
    case bodyTruncated

    /// Whether it is a timeout, for the statistics.
    package var isTimeout: Bool {
        switch self {
        case .slowHead, .slowBody, .lateBody, .slowestBody, .noBudget: true
        case .bodyTooLarge, .chunkTooLarge, .headTruncated, .bodyTruncated: false
        }
    }

    /// The error that the client gets.
    package var error: WireError {
        switch self {
        case .slowHead:
            WireError(
                .requestTimeout,
                message: "the head of the request did not arrive in time", label: "slow_head")
        case .slowBody:
            WireError(
                .requestTimeout,
                message: "the body of the request arrives more slowly than the minimum rate", label: "slow_body")
        case .lateBody:
            WireError(
                .requestTimeout,
                message: "the body of the request did not arrive in the time that a body has", label: "late_body")
        case .slowestBody:
            WireError(
                .requestTimeout,
                message:
                    "the body of the request arrives more slowly than others, and there is no room for all of them",
                label: "slowest_body")
        case .noBudget:
            WireError(
                .overloaded,
                message: "the server has reached its limit for request bodies; try again", label: "no_budget")
        case .bodyTooLarge(let limit, let declared):
            WireError(
                .bodyTooLarge,
                message: "the body is larger than the \(limit) bytes that are accepted here: "
                    + (declared.map { "Content-Length says \($0)" } ?? "more came"), label: "body_too_large")
        case .chunkTooLarge(let limit, let size):
            WireError(
                .bodyTooLarge,
                message:
                    "the body is larger than the \(limit) bytes that are accepted here: a chunk of \(size) bytes begins",
                label: "body_too_large")
        case .headTruncated:
            WireError(
                .badRequest,
                message: "the connection's sending side was closed before the head of the request was complete",
                label: "head_truncated")
        case .bodyTruncated:
            WireError(
                .badRequest,
                message: "the connection's sending side was closed before the body was complete",
                label: "body_truncated")
        }
    }
}

internal import SystemSupport

/// Why a request was given no slot.
public enum AdmissionError: Error, Sendable, Hashable {
    /// Every slot is taken, and the queue holds as many as it may: in number, or in time, which is when the predicted
    /// wait is longer than `LimiterConfiguration.maxWait` and waiting would only delay the refusal.
    case queueFull(predictedWait: Duration)

    /// More requests come than can be answered, and this one's answer was not predicted within
    /// `LimiterConfiguration.overloadTarget`. `retryAfter` says when to come again, in whole seconds; it differs from request to
    /// request, so that those who are refused together do not return together.
    case overloaded(predictedWait: Duration, retryAfter: Duration)

    /// It waited the longest that a request may wait. The associated value is how long it waited.
    case waitTimedOut(Duration)

    /// Its deadline passed: before it came, or while it waited.
    case deadlineExceeded

    /// By the predicted wait and the service time lately, its deadline will pass before it is answered.
    case deadlineUnreachable(predictedWait: Duration)

    /// A newer request replaced it in the queue (`drop_oldest`, or a queue that was made smaller).
    case displaced(predictedWait: Duration)

    /// The limiter lets nothing more in: shutdown, or its model is going.
    case draining

    /// The task that asked was cancelled.
    case cancelled

    /// How long a request that came now would wait, where that is what speaks against it: the least that a client
    /// should let pass before it tries again.
    public var predictedWait: Duration? {
        switch self {
        case .queueFull(let wait), .overloaded(let wait, _), .deadlineUnreachable(let wait), .displaced(let wait): wait
        case .waitTimedOut(let waited): waited
        case .deadlineExceeded, .draining, .cancelled: nil
        }
    }

    /// A name from a fixed set, for metrics and logs.
    public var label: String {
        switch self {
        case .queueFull: "queue_full"
        case .overloaded: "overloaded"
        case .waitTimedOut: "wait_timed_out"
        case .deadlineExceeded: "deadline_exceeded"
        case .deadlineUnreachable: "deadline_unreachable"
        case .displaced: "displaced"
        case .draining: "draining"
        case .cancelled: "cancelled"
        }
    }

    /// A sentence for the client.
    public var message: String {
        switch self {
        case .queueFull(let wait):
            "the in-flight limit is reached and the queue is full; a request would wait about \(wait.rounded)"
        case .overloaded(let wait, let retry):
            "overloaded: requests arrive faster than they are answered, and this one would wait about \(wait.rounded); "
                + "try again in \(retry.components.seconds) s"
        case .waitTimedOut(let waited):
            "the request waited \(waited.rounded) in the queue, the maximum (queue_wait)"
        case .deadlineExceeded:
            "the request's deadline passed while it was queued"
        case .deadlineUnreachable(let wait):
            "the request's deadline cannot be met: it would wait about \(wait.rounded) for a slot"
        case .displaced(let wait):
            "a newer request replaced this one in the queue; a request would wait about \(wait.rounded)"
        case .draining:
            "no new requests are accepted: the model or the server is shutting down"
        case .cancelled:
            "the request was cancelled while it was queued"
        }
    }
}

extension Duration {
    /// "12 ms", "3.4 s": enough for a sentence.
    fileprivate var rounded: String {
        let milliseconds = saturatedNanoseconds / 1_000_000
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        let tenths = milliseconds / 100
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
}

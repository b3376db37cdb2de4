internal import SystemSupport

/// The reason why a request got no slot.
public enum AdmissionError: Error, Sendable, Hashable {
    /// All slots are taken and the queue is full: in number, or in time, if the predicted wait exceeds
    /// `LimiterConfiguration.maxWait`, so that waiting would only delay the refusal.
    case queueFull(predictedWait: Duration)

    /// Requests arrive faster than they are answered, and the answer to this one was not predicted within
    /// `LimiterConfiguration.overloadTarget`. `retryAfter`, in whole seconds, varies between requests, so that clients
    /// refused together do not return together.
    case overloaded(predictedWait: Duration, retryAfter: Duration)

    /// The request waited for the maximum time. The associated value is its wait.
    case waitTimedOut(Duration)

    /// The deadline passed before the request arrived, or while it waited.
    case deadlineExceeded

    /// By the predicted wait and the recent service time, the deadline would pass before the answer.
    case deadlineUnreachable(predictedWait: Duration)

    /// A newer request replaced this one in the queue (`drop_oldest`), or the queue was shortened.
    case displaced(predictedWait: Duration)

    /// The limiter accepts no more requests: the daemon or the model is shutting down.
    case draining

    /// The calling task was cancelled.
    case cancelled

    /// The predicted wait of a new request, if it is the reason for the refusal: the minimum time that a client should
    /// wait before it retries.
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

    /// A message for the client.
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
    /// A duration for messages: "12 ms", "3.4 s".
    fileprivate var rounded: String {
        let milliseconds = saturatedNanoseconds / 1_000_000
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        let tenths = milliseconds / 100
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
}

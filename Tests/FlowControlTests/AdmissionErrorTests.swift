import FlowControl
import Testing

/// The parts of a refusal: its label for metrics, its message, and its predicted wait.
@Suite struct AdmissionErrorTests {
    private static let table: [(error: AdmissionError, label: String, words: String, wait: Duration?)] = [
        (.queueFull(predictedWait: .milliseconds(999)), "queue_full", "about 999 ms", .milliseconds(999)),
        (.queueFull(predictedWait: .milliseconds(1000)), "queue_full", "about 1 s", .milliseconds(1000)),
        (.queueFull(predictedWait: .milliseconds(1099)), "queue_full", "about 1 s", .milliseconds(1099)),
        (.queueFull(predictedWait: .milliseconds(1250)), "queue_full", "about 1.2 s", .milliseconds(1250)),
        (
            .overloaded(predictedWait: .milliseconds(12), retryAfter: .seconds(7)), "overloaded",
            "about 12 ms; try again in 7 s", .milliseconds(12)
        ),
        (.waitTimedOut(.seconds(30)), "wait_timed_out", "waited 30 s in the queue", .seconds(30)),
        (.deadlineExceeded, "deadline_exceeded", "deadline passed while it was queued", nil),
        (.deadlineUnreachable(predictedWait: .seconds(2)), "deadline_unreachable", "about 2 s", .seconds(2)),
        (.displaced(predictedWait: .milliseconds(1)), "displaced", "a newer request", .milliseconds(1)),
        (.draining, "draining", "shutting down", nil),
        (.cancelled, "cancelled", "was cancelled while it was queued", nil),
    ]

    @Test("every admission error has its label, message and predicted wait", arguments: table)
    func error_everyCase_hasLabelMessageAndWait(error: AdmissionError, label: String, words: String, wait: Duration?) {
        #expect(error.label == label)
        #expect(error.message.contains(words))
        #expect(error.predictedWait == wait)
    }
}

/// The result of one load. It covers only requests that were due after the warm-up.
package struct StepResult: Sendable, Hashable {
    /// The reason why a request has no answer.
    package enum Failure: String, Sendable, CaseIterable {
        /// The connection could not be established.
        case connect
        /// The connection was closed before the answer was complete.
        case closed
        /// The answer could not be parsed.
        case malformed
        /// The answer did not arrive within the timeout.
        case timeout
        /// The run ended before the answer.
        case unanswered
    }

    package var plan: LoadPlan
    /// The number of requests that were due, and that were sent.
    package var due = 0
    package var sent = 0
    /// The number of answers by status.
    package var statuses: [Int: Int] = [:]
    package var failures: [Failure: Int] = [:]
    /// The text of the first answer that was not a success, or of the first failure.
    package var firstTrouble: String?
    /// The time from a request's due time to its answer: of successes, and of requests that were abandoned (after the
    /// timeout, or at the end of the run), which count with the time until then, the minimum of their latency.
    package var latency = LatencyHistogram()
    /// The time from sending a request to its answer: the latency for a client that does not count its own waiting.
    package var service = LatencyHistogram()
    /// The lateness of requests that got a connection at once: the generator's own delay.
    package var lateness = LatencyHistogram()
    /// The number of successes that arrived in the measured period, including those of earlier requests.
    package var successesInTime = 0
    /// The length of that period in seconds.
    package var measuredSeconds = 0.0
    /// The generator's processor time in that period, in seconds.
    package var generatorCPUSeconds = 0.0
    /// The generator's processor time in the whole run, with warm-up and end, in seconds.
    package var totalCPUSeconds = 0.0
    /// The number of requests that waited because all connections were busy.
    package var waitedForConnection = 0
    /// The number of connections opened, including the time before the measured period, and the maximum at one time.
    package var opened = 0
    package var peakConnections = 0

    package init(plan: LoadPlan) { self.plan = plan }

    /// The requested rate; nil in a closed loop.
    package var offeredRate: Double? {
        if case .open(let rate) = plan.loop { rate } else { nil }
    }
    /// Successes per second.
    package var successRate: Double { measuredSeconds > 0 ? Double(successesInTime) / measuredSeconds : 0 }
    /// The share of one processor used by the generator.
    package var generatorCPU: Double { measuredSeconds > 0 ? generatorCPUSeconds / measuredSeconds : 0 }
    package var successes: Int { statuses.reduce(0) { (200..<300).contains($1.key) ? $0 + $1.value : $0 } }
    package var refused: Int { statuses.reduce(0) { (200..<300).contains($1.key) ? $0 : $0 + $1.value } }
    package var failed: Int { failures.values.reduce(0, +) }
}

/// The result of one load. Only requests that were due after the warm-up are in it.
package struct StepResult: Sendable, Hashable {
    /// The reason why a request has no answer.
    package enum Failure: String, Sendable, CaseIterable {
        /// No connection could be made.
        case connect
        /// The connection ended before the answer did.
        case closed
        /// The answer cannot be parsed.
        case malformed
        /// There was none in time.
        case timeout
        /// The run was over before there was one.
        case unanswered
    }

    package var plan: LoadPlan
    /// Requests that were due, and those that were sent.
    package var due = 0
    package var sent = 0
    /// Answers by status.
    package var statuses: [Int: Int] = [:]
    package var failures: [Failure: Int] = [:]
    /// The text of the first answer that was not a success, or of the first failure.
    package var firstTrouble: String?
    /// From when a request was due to its answer; successes, and requests that were given up (after the timeout, at the
    /// end of the run) with the time until then, which is the least that they would have taken.
    package var latency = LatencyHistogram()
    /// From when a request was sent to its answer: what a client that does not count its own waiting sees.
    package var service = LatencyHistogram()
    /// The lateness of requests that had a connection at once: the generator's own delay.
    package var lateness = LatencyHistogram()
    /// Successes within the measured time, by whichever request.
    package var successesInTime = 0
    /// The seconds of that time.
    package var measuredSeconds = 0.0
    /// Seconds of processor time of the generator in it.
    package var generatorCPUSeconds = 0.0
    /// The same of the whole run, with warm-up and end.
    package var totalCPUSeconds = 0.0
    /// Requests that had to wait because all connections were busy.
    package var waitedForConnection = 0
    /// Connections made, also those before the measured time; and the most at once.
    package var opened = 0
    package var peakConnections = 0

    package init(plan: LoadPlan) { self.plan = plan }

    /// The rate that was asked for; nil in a closed loop.
    package var offeredRate: Double? {
        if case .open(let rate) = plan.loop { rate } else { nil }
    }
    /// Successes a second.
    package var successRate: Double { measuredSeconds > 0 ? Double(successesInTime) / measuredSeconds : 0 }
    /// The part of one processor that the generator took.
    package var generatorCPU: Double { measuredSeconds > 0 ? generatorCPUSeconds / measuredSeconds : 0 }
    package var successes: Int { statuses.reduce(0) { (200..<300).contains($1.key) ? $0 + $1.value : $0 } }
    package var refused: Int { statuses.reduce(0) { (200..<300).contains($1.key) ? $0 : $0 + $1.value } }
    package var failed: Int { failures.values.reduce(0, +) }
}

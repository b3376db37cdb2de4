/// The condition that a server must meet at a rate: all requests succeed, the rate is sustained, and a percentile of
/// the latency is below a bound, such as `p99<50ms`.
package struct ServiceObjective: Sendable, Hashable {
    /// The text as given.
    package let text: String
    let name: String, percent: Double
    /// The bound in nanoseconds.
    let bound: UInt64

    /// - Parameter duration: parses a time such as `50ms`; returns seconds.
    package init(parsing text: String, duration: (String) -> Double?) throws(LoadError) {
        let parts = text.split(separator: "<", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        if parts.count == 2, Double(parts[1]) != nil {
            throw LoadError(
                "\"\(text)\" has no unit of time: write \"\(parts[0])<\(parts[1])ms\", or \"\(parts[0])<\(parts[1])s\"")
        }
        guard parts.count == 2, parts[0].hasPrefix("p"), let percent = Double(parts[0].dropFirst()),
            (1...99.99).contains(percent), let seconds = duration(parts[1]), (0.0001...600).contains(seconds)
        else {
            throw LoadError(
                "expected a percentile from p1 to p99.99 and a time from 0.1ms to 10m, as \"p99<50ms\", found \"\(text)\""
            )
        }
        name = parts[0]
        self.text = "\(parts[0]) < \(parts[1])"
        self.percent = percent
        bound = UInt64(seconds * 1e9)
    }

    /// The reason why a load does not meet the objective; nil if it does.
    package func objection(to step: StepResult) -> String? {
        let trouble = step.refused + step.failed
        if trouble > 0 {
            return "\(trouble) of \(step.due) requests failed\(step.firstTrouble.map { "; the first: \($0)" } ?? "")"
        }
        guard step.latency.count > 0, step.successes > 0 else { return "nothing was answered" }
        // A latency that grows until the end of the run meets any bound if the run is short enough.
        if let rate = step.offeredRate, step.successRate < 0.97 * rate {
            return "the server did not keep up: \(NumberText.decimal(step.successRate)) answers a second"
        }
        let latency = step.latency.percentile(percent)
        return latency < bound ? nil : "\(name) was \(NumberText.milliseconds(latency)) ms"
    }
}

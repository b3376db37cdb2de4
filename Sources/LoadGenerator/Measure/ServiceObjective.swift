/// The promise of a server at a rate: every request answered with success, the rate kept up, and a percentile of the
/// latency below a bound, such as `p99<50ms`.
package struct ServiceObjective: Sendable, Hashable {
    /// As it was written.
    package let text: String
    let name: String, percent: Double
    /// In nanoseconds.
    let bound: UInt64

    /// - Parameter duration: reads a time such as `50ms`, in seconds.
    package init(parsing text: String, duration: (String) -> Double?) throws(LoadError) {
        let parts = text.split(separator: "<", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
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

    /// The reason why a load does not hold it; nil if it does.
    package func objection(to step: StepResult) -> String? {
        let trouble = step.refused + step.failed
        if trouble > 0 {
            return "\(trouble) of \(step.due) requests failed\(step.firstTrouble.map { "; the first: \($0)" } ?? "")"
        }
        guard step.latency.count > 0, step.successes > 0 else { return "nothing was answered" }
        // What grows until the end is below every bound if it is looked at soon enough.
        if let rate = step.offeredRate, step.successRate < 0.97 * rate {
            return "the server did not keep up: \(NumberText.decimal(step.successRate)) answers a second"
        }
        let latency = step.latency.percentile(percent)
        return latency < bound ? nil : "\(name) was \(NumberText.milliseconds(latency)) ms"
    }
}

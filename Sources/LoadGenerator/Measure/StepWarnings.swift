/// Warnings about the validity of a load's measurements.
package enum StepWarnings {
    /// The maximum share of a processor for the generator; beyond it, the generator may be the bottleneck.
    static let toleratedCPU = 0.8
    /// The minimum share of due requests that must be sent.
    static let toleratedShortfall = 0.99
    /// The maximum lateness of the generator at the 99th percentile, in nanoseconds; a tenth of the median latency if
    /// that is greater.
    static let toleratedLateness: UInt64 = 1_000_000

    /// A warning: its kind, by which those of several loads are grouped, and a sentence.
    package struct Warning: Sendable, Hashable {
        package enum Kind: Sendable, CaseIterable {
            case nothing, errors, rate, overload, connections, lateness, generator, samples
        }

        package let kind: Kind
        package let text: String

        init(_ kind: Kind, _ text: String) {
            self.kind = kind
            self.text = text
        }
    }

    package static func about(_ result: StepResult) -> [Warning] {
        var warnings: [Warning] = []
        if result.due == 0 || result.latency.count == 0 {
            return [Warning(.nothing, "nothing was measured: \(result.firstTrouble ?? "no request was due")")]
        }
        if result.failed > 0 || result.refused > 0 {
            let trouble = result.firstTrouble.map { "; the first: \($0)" } ?? ""
            warnings.append(
                Warning(
                    .errors,
                    "\(result.refused) answers were errors and \(result.failed) requests were not answered\(trouble)"))
        }
        if case .open(let rate) = result.plan.loop { warnings += openLoop(result, rate: rate) }
        if result.generatorCPU > toleratedCPU {
            warnings.append(
                Warning(
                    .generator,
                    "the generator used \(percent(result.generatorCPU)) of its processor: the result may be its own limit"
                ))
        }
        warnings += samples(Int(result.latency.count))
        return warnings
    }

    private static func openLoop(_ result: StepResult, rate: Double) -> [Warning] {
        var warnings: [Warning] = []
        if Double(result.sent) < toleratedShortfall * Double(result.due) {
            warnings.append(
                Warning(
                    .rate,
                    "the rate could not be held: only \(result.sent) of \(result.due) requests were sent in time"
                ))
        }
        let refused = result.refused + result.failed - (result.failures[.unanswered] ?? 0)
        if result.successRate < 0.97 * rate, refused < result.due / 50 {
            warnings.append(
                Warning(
                    .overload,
                    "the server did not keep up (\(decimal(result.successRate)) answers a second of \(decimal(rate))): its "
                        + "queue and the latency grew until the end"))
        }
        if result.waitedForConnection > result.due / 100 {
            warnings.append(
                Warning(
                    .connections,
                    "\(result.waitedForConnection) of \(result.due) requests waited for one of "
                        + "\(result.plan.connections) connections (--connections): their wait is part of the latency"))
        }
        let late = result.lateness.percentile(99)
        if late > max(toleratedLateness, result.latency.percentile(50) / 10) {
            warnings.append(
                Warning(
                    .lateness,
                    "the generator itself was late: by \(decimal(Double(late) / 1e6)) ms at its 99th percentile; the "
                        + "machine is too busy for these latencies"))
        }
        return warnings
    }

    private static func samples(_ count: Int) -> [Warning] {
        // A percentile is meaningful only if at least ten values are beyond it.
        switch count {
        case ..<100: [Warning(.samples, "\(count) answers are too few for percentiles: measure longer")]
        case ..<1000: [Warning(.samples, "\(count) answers are too few for p99 (1000) and p99.9 (10000)")]
        case ..<10_000: [Warning(.samples, "\(count) answers are too few for p99.9, which needs 10000")]
        default: []
        }
    }

    private static func percent(_ part: Double) -> String { "\(Int((part * 100).rounded()))%" }

    private static func decimal(_ value: Double) -> String { NumberText.decimal(value) }
}

internal import SystemSupport

extension BenchReport {
    /// The report as a text table with a line for each load.
    package var text: String {
        let sizes = pictures.map(\.bytes)
        let kinds =
            pictures.isEmpty
            ? "GET without a body"
            : "\(pictures.count) picture\(pictures.count == 1 ? "" : "s") of \(Self.range(sizes)) KB"
        var lines = verdict.map { [$0.text, ""] } ?? []
        lines += [
            url,
            "  \(isOpenLoop ? "open loop" : "closed loop"), connections \(keepAlive ? "reused" : "new for each request"), "
                + "\(kinds), \(NumberText.decimal(steps.first?.plan.seconds ?? 0)) s"
                + (steps.count > 1 ? " each" : ""),
            "",
            [isOpenLoop ? "rate" : "connections", "answers/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms"]
                .map { $0.right(11) }.joined() + "  trouble",
        ]
        for step in steps { lines.append(Self.row(step)) }
        lines.append("")
        lines.append(
            isOpenLoop
                ? "Latency counts from when each request was due, whether it could be sent then or not."
                : "A closed loop: each connection waits for its answer before it sends again, so slow moments get "
                    + "fewer requests than users would send (--rate, --sweep: an open loop).")
        for warning in warnings { lines.append("Warning: \(warning)") }
        return lines.joined(separator: "\n")
    }

    private static func row(_ step: StepResult) -> String {
        let first = step.offeredRate.map { NumberText.decimal($0) } ?? String(step.plan.connections)
        let cells = [first, NumberText.decimal(step.successRate)] + latencies(step)
        return cells.map { $0.right(11) }.joined() + "  " + trouble(step)
    }

    /// The percentiles and the maximum latency, in milliseconds; dashes if nothing was measured.
    static func latencies(_ step: StepResult) -> [String] {
        guard step.latency.count > 0 else { return percentiles.map { _ in "-" } + ["-"] }
        return percentiles.map { NumberText.milliseconds(step.latency.percentile($0.percent)) }
            + [NumberText.milliseconds(step.latency.greatest)]
    }

    /// The failures, by status and kind.
    static func trouble(_ step: StepResult) -> String {
        let statuses = step.statuses.filter { !(200..<300).contains($0.key) }.sorted { $0.key < $1.key }
        let failures = StepResult.Failure.allCases.compactMap { kind in
            step.failures[kind].map { "\($0) \(kind.rawValue)" }
        }
        let all = statuses.map { "\($0.value) × \($0.key)" } + failures
        return all.isEmpty ? "none" : all.joined(separator: ", ")
    }

    private static func range(_ sizes: [Int]) -> String {
        guard let minimum = sizes.min(), let maximum = sizes.max() else { return "0" }
        let (low, high) = (NumberText.decimal(Double(minimum) / 1000), NumberText.decimal(Double(maximum) / 1000))
        return low == high ? low : "\(low) to \(high)"
    }
}

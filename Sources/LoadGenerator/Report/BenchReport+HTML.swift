extension BenchReport {
    /// The report as a self-contained page: chart, table and warnings.
    package var html: String {
        let headings =
            [isOpenLoop ? "rate" : "connections", "answers/s"] + Self.percentiles.map { "\($0.name) ms" }
            + ["max ms", "trouble"]
        let rows = steps.map { step in
            let first = step.offeredRate.map { NumberText.decimal($0) } ?? String(step.plan.connections)
            let cells = [first, NumberText.decimal(step.successRate)] + Self.latencies(step) + [Self.trouble(step)]
            return "<tr>" + cells.map { "<td>\(ReportPage.escaped($0))</td>" }.joined() + "</tr>"
        }
        let files = pictures.map { "\(ReportPage.escaped($0.name)) (\($0.bytes) bytes)" }
        return ReportPage.text(
            title: "ocelli load: \(url)",
            style: """
                body { max-width: 900px }
                svg { width: 100%; height: auto }
                table { width: 100% }
                th, td { text-align: right }
                th:last-child, td:last-child { text-align: left }
                p { color: var(--dim) }
                """,
            body: """
                \(LatencyChart(self).svg)
                \(ReportPage.table(headings, rows))
                <p>\(isOpenLoop ? "Latency counts from when each request was due, whether it could be sent then or not." : "A closed loop: each connection waits for its answer before it sends again.")
                \(files.isEmpty ? "" : "Pictures: \(files.joined(separator: ", ")).")</p>
                \(ReportPage.list(warnings, title: "Warnings"))
                """)
    }
}

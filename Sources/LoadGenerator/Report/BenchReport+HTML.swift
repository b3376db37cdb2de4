extension BenchReport {
    /// The report as a self-contained page: chart, table and warnings.
    package var html: String {
        let names =
            [isOpenLoop ? "rate" : "connections", "answers/s"] + Self.percentiles.map { "\($0.name) ms" } + ["max ms"]
        let rows = steps.map { step in
            let first = step.offeredRate.map { NumberText.decimal($0) } ?? String(step.plan.connections)
            let cells =
                [first, NumberText.decimal(step.successRate)] + Self.latencies(step)
            return "<tr>" + cells.map { "<td>\($0)</td>" }.joined()
                + "<td class=\"text\">\(LatencyChart.escaped(Self.trouble(step)))</td></tr>"
        }
        let items = warnings.map { "<li>\(LatencyChart.escaped($0))</li>" }
        let files = pictures.map { "\(LatencyChart.escaped($0.name)) (\($0.bytes) bytes)" }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>ocelli load: \(LatencyChart.escaped(url))</title>
            <style>
            :root { color-scheme: light dark; --back: #fcfcfb; --ink: #1d1d1b; --dim: #5f5e58; --rule: #e3e2dc }
            @media (prefers-color-scheme: dark) {
            :root { --back: #1a1a19; --ink: #f2f1ec; --dim: #b3b2aa; --rule: #363532 }
            }
            body { background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 900px;
            margin: 1.5rem auto; padding: 0 1rem }
            svg { width: 100%; height: auto }
            table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
            th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--rule) }
            th { color: var(--dim); font-weight: 600 }
            .text { text-align: left }
            .wide { overflow-x: auto }
            p { color: var(--dim) }
            </style>
            </head>
            <body>
            \(LatencyChart(self).svg)
            <div class="wide"><table>
            <thead><tr>\(names.map { "<th scope=\"col\">\($0)</th>" }.joined())<th scope="col" class="text">trouble</th></tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody>
            </table></div>
            <p>\(isOpenLoop ? "Latency counts from when each request was due, whether it could be sent then or not." : "A closed loop: each connection waits for its answer before it sends again.")
            \(files.isEmpty ? "" : "Pictures: \(files.joined(separator: ", ")).")</p>
            \(items.isEmpty ? "" : "<h2>Warnings</h2>\n<ul>\n\(items.joined(separator: "\n"))\n</ul>")
            </body>
            </html>

            """
    }
}

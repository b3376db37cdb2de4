internal import Settings
internal import Teaching

extension TeachReport {
    /// The report as a single HTML page: a confusion matrix, and the tables.
    var html: String {
        let failed = failures.map { "<li>\(Self.escaped($0.file)): \(Self.escaped($0.reason))</li>" }
        let mistakes = wrong.map {
            "<tr><td>\(Self.escaped($0.file))</td><td>\(Self.escaped($0.label))</td><td>\(Self.escaped($0.answer))</td></tr>"
        }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>ocelli teach: \(Self.escaped(name))</title>
            <style>
            \(Self.style)
            </style>
            </head>
            <body>
            <h1>\(Self.escaped(name))</h1>
            <p>\(Self.escaped(lead))</p>
            <p><strong>\(Self.escaped(accuracy))</strong></p>
            <ul>
            \(remarks.map { "<li>\(Self.escaped($0))</li>" }.joined(separator: "\n"))
            </ul>
            <h2>Confusions</h2>
            \(matrix)
            \(mistakes.isEmpty ? "<p>No picture was answered wrongly.</p>" : """
            <h2>Wrong answers</h2>
            <div class="wide"><table>
            <thead><tr><th scope="col">picture</th><th scope="col">is</th><th scope="col">was taken for</th></tr></thead>
            <tbody>
            \(mistakes.joined(separator: "\n"))
            </tbody>
            </table></div>
            """)
            \(failed.isEmpty ? "" : "<h2>Pictures that were left out</h2>\n<ul>\n\(failed.joined(separator: "\n"))\n</ul>")
            </body>
            </html>

            """
    }

    /// The maximum number of classes in the matrix.
    private static let mostDrawn = 40

    /// The classes in the matrix: all, or the most confused ones.
    private var drawn: [String] {
        guard labels.count > Self.mostDrawn else { return labels }
        var chosen: Set<String> = []
        for pair in confusions {
            for label in [pair.label, pair.answer] where chosen.count < Self.mostDrawn { chosen.insert(label) }
        }
        return labels.filter(chosen.contains)
    }

    /// The confusion matrix: a row for each class with the count of each answer; a darker cell is a greater share.
    private var matrix: String {
        let drawn = drawn
        let left = labels.count - drawn.count
        var text =
            left == 0
            ? ""
            : "<p>The \(drawn.count) classes that are confused most; \(Self.count(left, "class", "classes")) more are not shown.</p>\n"
        guard !drawn.isEmpty else { return text }
        text += "<div class=\"wide\"><table class=\"matrix\"><thead><tr><td></td>"
        text += drawn.map { "<th scope=\"col\"><span>\(Self.escaped($0))</span></th>" }.joined()
        text += "<th scope=\"col\"><span>right</span></th></tr></thead>\n<tbody>\n"
        for label in drawn {
            guard let tally = tallies[label] else { continue }
            text += "<tr><th scope=\"row\">\(Self.escaped(label))</th>"
            for answer in drawn {
                let count = answer == label ? tally.correct : tally.others[answer] ?? 0
                let share = Units.decimal(Double(count) / Double(max(1, tally.all)), places: 3)
                let kind = answer == label ? "good" : "bad"
                let title = "\(Self.escaped(label)) taken for \(Self.escaped(answer)): \(count) of \(tally.all)"
                text +=
                    count == 0
                    ? "<td></td>" : "<td class=\"\(kind)\" style=\"--share: \(share)\" title=\"\(title)\">\(count)</td>"
            }
            text += "<td class=\"sum\">\(tally.correct) of \(tally.all)</td></tr>\n"
        }
        return text + "</tbody>\n</table></div>\n<p>Rows are the true classes, columns the answers.</p>"
    }

    private static let style = """
        :root { color-scheme: light dark; --back: #fcfcfb; --ink: #1d1d1b; --dim: #5f5e58; --rule: #e3e2dc; --good: 60 130 70;
        --bad: 190 50 40 }
        @media (prefers-color-scheme: dark) {
        :root { --back: #1a1a19; --ink: #f2f1ec; --dim: #b3b2aa; --rule: #363532; --good: 90 170 100; --bad: 220 90 80 }
        }
        body { background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 1100px;
        margin: 1.5rem auto; padding: 0 1rem }
        table { border-collapse: collapse; font-variant-numeric: tabular-nums }
        th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--rule) }
        th { color: var(--dim); font-weight: 600 }
        .wide { overflow-x: auto }
        .matrix td { text-align: center; min-width: 2.2rem; border: 1px solid var(--rule) }
        .matrix thead th { vertical-align: bottom }
        .matrix thead span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 12rem; overflow: hidden }
        .matrix .good { background: rgb(var(--good) / calc(var(--share) * .7)) }
        .matrix .bad { background: rgb(var(--bad) / calc(.15 + var(--share) * .7)) }
        .matrix .sum { white-space: nowrap }
        """

    /// Text escaped for HTML.
    private static func escaped(_ text: String) -> String {
        var safe = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": safe += "&amp;"
            case "<": safe += "&lt;"
            case ">": safe += "&gt;"
            case "\"": safe += "&quot;"
            default: safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }
}

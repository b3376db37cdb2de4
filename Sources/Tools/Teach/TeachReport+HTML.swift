internal import LoadGenerator
internal import Settings
internal import Teaching

extension TeachReport {
    /// The report as a single HTML page: a confusion matrix, and the tables.
    var html: String {
        let mistakes = wrong.map { one in
            "<tr>" + [one.file, one.label, one.answer].map { "<td>\(ReportPage.escaped($0))</td>" }.joined() + "</tr>"
        }
        return ReportPage.text(
            title: "ocelli teach: \(name)", style: Self.style,
            body: """
                <h1>\(ReportPage.escaped(name))</h1>
                <p>\(ReportPage.escaped(lead))</p>
                <p><strong>\(ReportPage.escaped(accuracy))</strong></p>
                \(ReportPage.list(remarks))
                <h2>Confusions</h2>
                \(matrix)
                \(mistakes.isEmpty
                    ? "<p>No picture was answered wrongly.</p>"
                    : "<h2>Wrong answers</h2>\n" + ReportPage.table(["picture", "is", "was taken for"], mistakes))
                \(ReportPage.list(failures.map { "\($0.file): \($0.reason)" }, title: "Pictures that were left out"))
                """)
    }

    /// The maximum number of classes in the matrix.
    private static let maximumDrawn = 40

    /// The classes in the matrix: all, or the most confused ones.
    private var drawn: [String] {
        guard labels.count > Self.maximumDrawn else { return labels }
        var chosen: Set<String> = []
        for pair in confusions {
            for label in [pair.label, pair.answer] where chosen.count < Self.maximumDrawn { chosen.insert(label) }
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
        text += drawn.map { "<th scope=\"col\"><span>\(ReportPage.escaped($0))</span></th>" }.joined()
        text += "<th scope=\"col\"><span>right</span></th></tr></thead>\n<tbody>\n"
        for label in drawn {
            guard let tally = tallies[label] else { continue }
            text += "<tr><th scope=\"row\">\(ReportPage.escaped(label))</th>"
            for answer in drawn {
                let count = answer == label ? tally.correct : tally.others[answer] ?? 0
                let share = Units.decimal(Double(count) / Double(max(1, tally.all)), places: 3)
                let kind = answer == label ? "good" : "bad"
                let title =
                    "\(ReportPage.escaped(label)) taken for \(ReportPage.escaped(answer)): \(count) of \(tally.all)"
                text +=
                    count == 0
                    ? "<td></td>" : "<td class=\"\(kind)\" style=\"--share: \(share)\" title=\"\(title)\">\(count)</td>"
            }
            text += "<td class=\"sum\">\(tally.correct) of \(tally.all)</td></tr>\n"
        }
        return text + "</tbody>\n</table></div>\n<p>Rows are the true classes, columns the answers.</p>"
    }

    private static let style = """
        :root { --good: 60 130 70; --bad: 190 50 40 }
        @media (prefers-color-scheme: dark) { :root { --good: 90 170 100; --bad: 220 90 80 } }
        body { max-width: 1100px }
        th, td { text-align: left }
        .matrix td { text-align: center; min-width: 2.2rem; border: 1px solid var(--rule) }
        .matrix thead th { vertical-align: bottom }
        .matrix thead span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 12rem; overflow: hidden }
        .matrix .good { background: rgb(var(--good) / calc(var(--share) * .7)) }
        .matrix .bad { background: rgb(var(--bad) / calc(.15 + var(--share) * .7)) }
        .matrix .sum { white-space: nowrap }
        """
}

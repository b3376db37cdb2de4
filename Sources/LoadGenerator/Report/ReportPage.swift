/// A report as one HTML page without other files, in the light or dark mode of the viewer.
package enum ReportPage {
    /// The page.
    /// - Parameters:
    ///   - title: plain text.
    ///   - style: CSS that this report has in addition.
    ///   - body: HTML.
    package static func text(title: String, style: String, body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(escaped(title))</title>
        <style>
        :root { color-scheme: light dark; --back: #fcfcfb; --ink: #1d1d1b; --dim: #5f5e58; --rule: #e3e2dc }
        @media (prefers-color-scheme: dark) {
        :root { --back: #1a1a19; --ink: #f2f1ec; --dim: #b3b2aa; --rule: #363532 }
        }
        body { background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto;
        padding: 0 1rem }
        table { border-collapse: collapse; font-variant-numeric: tabular-nums }
        th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--rule) }
        th { color: var(--dim); font-weight: 600 }
        .wide { overflow-x: auto }
        \(style)
        </style>
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }

    /// A table that scrolls sideways where it is too wide. Headings and rows are HTML.
    package static func table(_ headings: [String], _ rows: [String]) -> String {
        """
        <div class="wide"><table>
        <thead><tr>\(headings.map { "<th scope=\"col\">\($0)</th>" }.joined())</tr></thead>
        <tbody>
        \(rows.joined(separator: "\n"))
        </tbody>
        </table></div>
        """
    }

    /// A list of plain texts; empty without texts.
    /// - Parameter title: its heading, if any.
    package static func list(_ texts: [String], title: String? = nil) -> String {
        guard !texts.isEmpty else { return "" }
        let items = texts.map { "<li>\(escaped($0))</li>" }.joined(separator: "\n")
        return (title.map { "<h2>\($0)</h2>\n" } ?? "") + "<ul>\n\(items)\n</ul>"
    }

    /// Plain text as HTML or XML.
    package static func escaped(_ text: String) -> String {
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

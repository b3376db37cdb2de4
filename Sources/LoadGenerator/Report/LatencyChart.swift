internal import Glibc

/// A chart of the results as SVG: latency against load if there are several loads, else the distribution of latencies.
/// Self-contained, without external fonts, scripts or files; follows the light or dark mode of the viewer.
package struct LatencyChart: Sendable {
    private let report: BenchReport

    package init(_ report: BenchReport) { self.report = report }

    // In pixels.
    private static let width = 880.0, height = 540.0
    private static let plot = (left: 74.0, top: 78.0, right: 770.0, bottom: 458.0)

    /// A line of the chart.
    private struct Series {
        let name: String
        let style: String
        /// `isHollow`: true for doubtful values.
        var points: [(x: Double, y: Double, isHollow: Bool)] = []
    }

    /// The contents of the SVG file.
    package var svg: String {
        let isSweep = report.steps.count > 1
        let series = isSweep ? sweepSeries : distributionSeries
        let values = series.flatMap { $0.points.map(\.y) }.filter { $0 > 0 }
        let y = ChartScale.logarithmic(from: values.min() ?? 0.1, to: values.max() ?? 1)
        var parts = [head(title: isSweep ? "Latency against load" : "Distribution of the latency")]
        parts.append(grid(y))
        if isSweep {
            let x = ChartScale.linear(to: series.flatMap { $0.points.map(\.x) }.max() ?? 1)
            let rates = x.marks.map { (place: x.place($0), text: Self.mark($0)) }
            let name = report.isOpenLoop ? "requests a second" : "connections"
            parts.append(axis(rates, name: name))
            parts.append(draw(series, x: { x.place($0) }, y: y))
        } else {
            parts.append(axis(Self.nines, name: "percentile"))
            parts.append(draw(series, x: { $0 }, y: y))
        }
        parts.append("</svg>\n")
        return parts.joined(separator: "\n")
    }

    // MARK: Data

    private var sweepSeries: [Series] {
        BenchReport.percentiles.enumerated().map { position, percentile in
            var series = Series(name: percentile.name, style: "s\(position)")
            for step in report.steps where step.latency.count > 0 {
                let rate = step.offeredRate
                let isHollow = rate.map { step.successRate < 0.97 * $0 } ?? false || step.failed + step.refused > 0
                series.points.append(
                    (
                        rate ?? Double(step.plan.connections),
                        Double(step.latency.percentile(percentile.percent)) / 1e6, isHollow
                    ))
            }
            return series
        }
    }

    /// Positions on the axis of percentiles: each further nine gets the same space.
    private static let nines: [(place: Double, text: String)] = [
        (0, "0"), (place(ofPercent: 50), "50"), (place(ofPercent: 90), "90"), (place(ofPercent: 99), "99"),
        (place(ofPercent: 99.9), "99.9"), (place(ofPercent: 99.99), "99.99"), (1, "max"),
    ]

    private static func place(ofPercent percent: Double) -> Double { min(-log10(max(1 - percent / 100, 1e-5)) / 5, 1) }

    private var distributionSeries: [Series] {
        guard let step = report.steps.first else { return [] }
        var lines = [("since due", "s2", step.latency)]
        if step.offeredRate != nil { lines.append(("since sent", "s0", step.service)) }
        return lines.filter { $0.2.count > 0 }.map { name, style, histogram in
            var series = Series(name: name, style: style)
            for index in 0...100 {
                let place = Double(index) / 100
                let beyond = pow(10, -place * 5)
                // If no value is beyond a percentile, it equals the maximum, which is drawn at the end.
                guard index == 100 || beyond * Double(histogram.count) >= 1 else { continue }
                let percent = index == 100 ? 100 : (1 - beyond) * 100
                let value = index == 0 ? histogram.minimum : histogram.percentile(percent)
                series.points.append((place, Double(value) / 1e6, false))
            }
            return series
        }
    }

    // MARK: Drawing

    private func head(title: String) -> String {
        let seconds = NumberText.decimal(report.steps.first?.plan.seconds ?? 0)
        let loop = report.isOpenLoop ? "open loop" : "closed loop"
        let subtitle =
            "\(report.url) · \(loop) · connections \(report.keepAlive ? "reused" : "new for each request") · "
            + "\(seconds) s\(report.steps.count > 1 ? " a step" : "") · \(report.date)"
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" \
            role="img" aria-label="\(title)" font-family="system-ui, sans-serif" font-size="13">
            <style>
            .back { fill: #fcfcfb } .ink { fill: #1d1d1b } .dim { fill: #5f5e58 } .grid { stroke: #e3e2dc }
            .frame { stroke: #9b9a92 } .line { fill: none; stroke-width: 2 } .dot { stroke-width: 2 }
            .s1 .line { stroke-dasharray: 9 3 } .s2 .line { stroke-dasharray: 3 3 } .s3 .line { stroke-dasharray: 9 3 2 3 }
            \(Self.colours(["#2a6fbb", "#0d7f6e", "#b3590b", "#a8264a"], hollow: "#fcfcfb"))
            @media (prefers-color-scheme: dark) {
            .back { fill: #1a1a19 } .ink { fill: #f2f1ec } .dim { fill: #b3b2aa } .grid { stroke: #363532 }
            .frame { stroke: #77766f }
            \(Self.colours(["#6ea8ec", "#35bfa6", "#eb9a4b", "#f0809c"], hollow: "#1a1a19"))
            }
            </style>
            <rect class="back" width="100%" height="100%"/>
            <text class="ink" x="20" y="30" font-size="18" font-weight="600">\(title)</text>
            <text class="dim" x="20" y="52">\(ReportPage.escaped(subtitle))</text>
            """
    }

    /// The colors of the lines. No CSS variables, which viewers other than browsers do not support.
    private static func colours(_ colours: [String], hollow: String) -> String {
        colours.enumerated().map { index, colour in
            ".s\(index) .line { stroke: \(colour) } .s\(index) .dot { stroke: \(colour); fill: \(colour) } "
                + ".s\(index) .hollow { fill: \(hollow) } .n\(index) { fill: \(colour) }"
        }.joined(separator: "\n")
    }

    private func grid(_ y: ChartScale) -> String {
        let plot = Self.plot
        var lines: [String] = []
        for mark in y.marks {
            let place = Self.fixed(plot.bottom - y.place(mark) * (plot.bottom - plot.top))
            lines.append(
                "<line class=\"grid\" x1=\"\(plot.left)\" x2=\"\(plot.right)\" y1=\"\(place)\" y2=\"\(place)\"/>")
            lines.append(
                "<text class=\"dim\" x=\"\(plot.left - 8)\" y=\"\(place)\" dy=\"0.35em\" "
                    + "text-anchor=\"end\">\(Self.mark(mark))</text>")
        }
        let middle = (plot.top + plot.bottom) / 2
        lines.append(
            "<text class=\"ink\" x=\"22\" y=\"\(middle)\" text-anchor=\"middle\" "
                + "transform=\"rotate(-90 22 \(middle))\">milliseconds (logarithmic)</text>")
        return lines.joined(separator: "\n")
    }

    private func axis(_ marks: [(place: Double, text: String)], name: String) -> String {
        let plot = Self.plot
        var lines = [
            "<line class=\"frame\" x1=\"\(plot.left)\" x2=\"\(plot.right)\" y1=\"\(plot.bottom)\" y2=\"\(plot.bottom)\"/>"
        ]
        for mark in marks {
            let place = Self.fixed(plot.left + mark.place * (plot.right - plot.left))
            lines.append(
                "<line class=\"frame\" x1=\"\(place)\" x2=\"\(place)\" y1=\"\(plot.bottom)\" y2=\"\(plot.bottom + 5)\"/>"
            )
            lines.append(
                "<text class=\"dim\" x=\"\(place)\" y=\"\(plot.bottom + 21)\" text-anchor=\"middle\">\(mark.text)</text>"
            )
        }
        lines.append(
            "<text class=\"ink\" x=\"\((plot.left + plot.right) / 2)\" y=\"\(plot.bottom + 46)\" "
                + "text-anchor=\"middle\">\(name)</text>")
        if report.steps.count > 1 {
            lines.append(
                "<text class=\"dim\" x=\"20\" y=\"\(Self.height - 12)\">Hollow: errors, or fewer answers than requests."
                    + "</text>")
        }
        return lines.joined(separator: "\n")
    }

    private func draw(_ series: [Series], x: (Double) -> Double, y: ChartScale) -> String {
        let plot = Self.plot
        var lines: [String] = []
        var labels: [(y: Double, text: String, style: String)] = []
        for line in series where !line.points.isEmpty {
            let places = line.points.map { point in
                (
                    x: plot.left + x(point.x) * (plot.right - plot.left),
                    y: plot.bottom - y.place(point.y) * (plot.bottom - plot.top), isHollow: point.isHollow
                )
            }
            lines.append("<g class=\"\(line.style)\">")
            let path = places.map { "\(Self.fixed($0.x)),\(Self.fixed($0.y))" }.joined(separator: " ")
            lines.append("<polyline class=\"line\" points=\"\(path)\"/>")
            if report.steps.count > 1 {
                for place in places {
                    let kind = place.isHollow ? "dot hollow" : "dot"
                    lines.append(
                        "<circle class=\"\(kind)\" cx=\"\(Self.fixed(place.x))\" cy=\"\(Self.fixed(place.y))\" r=\"3.5\"/>"
                    )
                }
            }
            lines.append("</g>")
            if let last = places.last { labels.append((last.y, line.name, line.style)) }
        }
        return (lines + place(labels)).joined(separator: "\n")
    }

    /// Labels at the ends of the lines, moved apart if they would overlap.
    private func place(_ labels: [(y: Double, text: String, style: String)]) -> [String] {
        var labels = labels.sorted { $0.y < $1.y }
        for index in labels.indices.dropFirst() { labels[index].y = max(labels[index].y, labels[index - 1].y + 17) }
        return labels.map { label in
            "<text class=\"n\(label.style.dropFirst())\" x=\"\(Self.plot.right + 12)\" y=\"\(Self.fixed(label.y))\" "
                + "dy=\"0.35em\" font-weight=\"600\">\(ReportPage.escaped(label.text))</text>"
        }
    }

    private static func fixed(_ value: Double) -> String { NumberText.fixed(value, places: 1) }

    /// A tick's number in its shortest exact form.
    private static func mark(_ value: Double) -> String {
        var text = NumberText.fixed(value, places: 3)
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }
}

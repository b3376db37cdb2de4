import Foundation
import LoadGenerator
import Testing

@Suite struct BenchReportTests {
    /// A load without errors: `count` answers of 1 to `count` ms.
    private func clean(rate: Double?, count: Int = 10_000) -> StepResult {
        let loop = rate.map { LoadPlan.Loop.open(rate: $0) } ?? .closed
        var result = StepResult(plan: LoadPlan(loop: loop, connections: 8, seconds: 10))
        result.due = count
        result.sent = count
        result.statuses = [200: count]
        for index in 1...count {
            result.latency.record(UInt64(index % 1000 + 1) * 1_000_000)
            result.service.record(1_000_000)
            result.lateness.record(1000)
        }
        result.successesInTime = count
        result.measuredSeconds = Double(count) / (rate ?? 1000)
        return result
    }

    @Test("a load without errors has no warnings")
    func aCleanLoadHasNoDoubts() {
        #expect(StepWarnings.about(clean(rate: 1000)) == [])
        #expect(StepWarnings.about(clean(rate: nil)) == [])
    }

    @Test("each kind of warning about a measurement is reported")
    func everyDoubtIsReported() {
        func doubts(_ change: (inout StepResult) -> Void) -> String {
            var result = clean(rate: 1000)
            change(&result)
            return StepWarnings.about(result).map(\.text).joined(separator: "; ")
        }
        #expect(doubts { $0.sent = 9000 }.contains("the rate could not be held"))
        #expect(doubts { $0.successesInTime = 5000 }.contains("did not keep up"))
        #expect(doubts { $0.generatorCPUSeconds = 9.5 }.contains("95% of its processor"))
        #expect(doubts { $0.waitedForConnection = 500 }.contains("waited for one of 8 connections"))
        let late = doubts {
            for _ in 0..<1000 { $0.lateness.record(200_000_000) }
        }
        #expect(late.contains("itself was late"))
        let errors = doubts {
            $0.statuses[503] = 3
            $0.failures[.closed] = 2
            $0.firstTrouble = "503 overloaded"
        }
        #expect(errors.contains("3 answers were errors and 2 requests were not answered; the first: 503 overloaded"))
        #expect(doubts { $0.latency = LatencyHistogram() }.contains("nothing was measured"))
        #expect(StepWarnings.about(clean(rate: 10, count: 50)).contains { $0.text.contains("too few for percentiles") })
        #expect(StepWarnings.about(clean(rate: 10, count: 500)).contains { $0.text.contains("p99 (1000)") })
        #expect(StepWarnings.about(clean(rate: 10, count: 5000)).contains { $0.text.contains("p99.9") })
    }

    private func report(_ steps: [StepResult], local: Bool = false) -> BenchReport {
        var report = BenchReport(
            url: "http://h/p?a=<b>", isLocal: local, keepAlive: true, pictures: [("cat & dog.jpg", 12_345)],
            date: "2026-01-01T00:00:00Z", processors: 2, loadBefore: 0)
        report.steps = steps
        return report
    }

    @Test("the text report has a line for each load")
    func textHasALineForEachLoad() {
        let text = report([clean(rate: 100), clean(rate: 1000)]).text
        #expect(text.contains("open loop, connections reused, 1 picture of 12.3 KB, 10.0 s each"), "\(text)")
        let rows = text.split(separator: "\n").filter { $0.hasSuffix("  none") }
        #expect(rows.count == 2, "\(text)")
        #expect(rows.first?.hasPrefix("      100.0      100.0 ") == true, "\(text)")
        #expect(rows.last?.hasPrefix("       1000       1000 ") == true, "\(text)")
        #expect(!text.contains("Warning"))
        #expect(report([clean(rate: nil)]).text.contains("closed loop"))
    }

    @Test("the JSON report has loop, URL, rate, statuses, latencies and warnings")
    func jsonIsReadBack() throws {
        var step = clean(rate: 100)
        step.statuses[503] = 1
        let json = try report([step]).json()
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(object["loop"] as? String == "open" && object["url"] as? String == "http://h/p?a=<b>")
        let first = try #require((object["steps"] as? [[String: Any]])?.first)
        #expect(first["rate"] as? Double == 100 && (first["statuses"] as? [String: Int])?["503"] == 1)
        let latency = try #require(first["latency_ms"] as? [String: Double])
        #expect(abs((latency["p50"] ?? 0) - 500) < 5 && latency["max"] == 1000)
        #expect((object["warnings"] as? [String])?.count == 1)
    }

    @Test("the SVG chart is well-formed, and chart and HTML refer to no other files", arguments: [1, 2, 5])
    func thePictureIsWellFormedAndStandsAlone(_ steps: Int) throws {
        let report = report((1...steps).map { clean(rate: Double($0) * 100, count: 200) })
        let svg = LatencyChart(report).svg
        let parser = XMLCheck()
        #expect(parser.elements(of: svg) > 20, "\(parser.problem ?? "")")
        #expect(svg.contains("prefers-color-scheme: dark"))
        #expect(!svg.contains("href") && !svg.contains("url("))
        #expect(svg.components(separatedBy: "<polyline").count - 1 == (steps > 1 ? 4 : 2))
        let html = report.html
        #expect(html.contains("&lt;b&gt;") && !html.contains("<b>") && html.contains("cat &amp; dog.jpg"))
        #expect(!html.contains("http-equiv") && !html.contains("<script") && !html.contains("<link"))
    }

    @Test("answers with a status outside 200 to 299 count as refused")
    func whatIsNotASuccessIsRefused() {
        var answers = StepResult(plan: LoadPlan(loop: .open(rate: 10), connections: 1))
        answers.statuses = [200: 5, 204: 1, 199: 2, 301: 3, 404: 4, 503: 6]
        #expect(answers.refused == 15, "all but 200 to 299")
    }

    @Test("a report without measurements can still be drawn and printed")
    func nothingMeasuredCanBeDrawnToo() {
        let empty = StepResult(plan: LoadPlan(loop: .open(rate: 10), connections: 1))
        for steps in [[], [empty], [empty, empty]] {
            let report = report(steps)
            #expect(XMLCheck().elements(of: LatencyChart(report).svg) > 3)
            #expect(report.text.contains("http://h/p"))
        }
    }

    @Test("chart scales have round ticks and enclose their values")
    func scalesHaveRoundMarksWithinTheirEnds() {
        for maximum in [0.3, 1, 7, 99.5, 400, 123_456] {
            let scale = ChartScale.linear(to: maximum)
            #expect(scale.low == 0 && scale.high >= maximum && scale.high <= 2 * maximum + 1e-9, "\(maximum)")
            #expect((3...12).contains(scale.marks.count) && scale.marks.last == scale.high, "\(maximum)")
            #expect(scale.place(0) == 0 && scale.place(scale.high) == 1 && scale.place(scale.high / 2) == 0.5)
        }
        let scale = ChartScale.logarithmic(from: 0.7, to: 430)
        #expect(scale.low == 0.5 && scale.high == 500)
        #expect(scale.marks.contains(10) && scale.marks == scale.marks.sorted())
        #expect(ChartScale.logarithmic(from: 0, to: .nan).place(1) >= 0)
    }
}

/// Counts the elements of an XML text; negative if it is not well-formed.
private final class XMLCheck {
    var problem: String?

    func elements(of text: String) -> Int {
        var stack: [Substring] = []
        var count = 0
        var rest = text[...]
        while let open = rest.firstIndex(of: "<") {
            guard let close = rest[open...].firstIndex(of: ">") else {
                problem = "a tag without an end"
                return -1
            }
            let tag = rest[rest.index(after: open)..<close]
            let name = tag.drop { $0 == "/" }.prefix { !$0.isWhitespace && $0 != "/" }
            // Attributes have paired quotes, and names consist of letters.
            guard tag.count(where: { $0 == "\"" }) % 2 == 0, let first = name.first, first.isLetter else {
                problem = "<\(tag)>"
                return -1
            }
            if tag.hasPrefix("/") {
                guard stack.popLast() == name else {
                    problem = "</\(name)>"
                    return -1
                }
            } else {
                count += 1
                if !tag.hasSuffix("/") { stack.append(name) }
            }
            rest = rest[rest.index(after: close)...]
        }
        if let left = stack.last {
            problem = "<\(left)> is not closed"
            return -1
        }
        return count
    }
}

import Foundation
import TestSupport
import Testing

/// `/metrics` of the real binary.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct MetricsTests {
    static let golden = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/metrics.txt")

    static func hasTool(_ name: String) -> Bool {
        (try? Shell.run("sh", ["-c", "command -v \(name)"]).status) == 0
    }

    /// The value of one sample, by its name and labels as written.
    static func value(_ sample: String, in text: String) -> Double? {
        let line = text.split(separator: "\n").first { $0.hasPrefix(sample + " ") }
        return line.flatMap { Double($0.dropFirst(sample.count + 1)) }
    }

    /// The page with `~` for every number that depends on time, on the machine, or on the build.
    private static func normalised(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " ") else { return String(line) }
            let sample = line[..<space]
            let name = sample.prefix { $0 != "{" }
            let varies =
                name.hasSuffix("_bucket") || name.hasSuffix("_sum") || name.hasPrefix("process_")
                || ["_limit", "_instances", "_sent_bytes_total", "_build_info", "_open", "_idle"].contains {
                    name.hasSuffix($0)
                }
            guard varies else { return String(line) }
            return name.hasSuffix("_build_info") ? "\(name){~} ~" : "\(sample) ~"
        }
        return lines.joined(separator: "\n")
    }

    /// Each page once added a stack frame to the call that reads the server's numbers: 24,000 of them overflowed the
    /// stack.
    @Test(
        "6,000 requests of /metrics are answered with a stack of 1 MiB",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func thousandsOfPagesNeedNoDeeperStack() throws {
        let daemon = try Daemon(stackKiB: 1024)
        let answers = try Shell.run(
            "curl",
            ["-sS", "--max-time", "120", "-o", "/dev/null", "-w", "%{http_code}\n", daemon.url + "/metrics?[1-6000]"])
        let statuses = answers.text.split(separator: "\n")
        #expect(statuses.count == 6000 && statuses.allSatisfy { $0 == "200" }, "\(Set(statuses)) \(answers.status)")
        #expect(daemon.stop() == 0, "\(daemon.log.suffix(2000))")
    }

    @Test("/metrics after known requests is the page of Tests/Fixtures/metrics.txt")
    func theWholePageAfterKnownRequests() throws {
        let cache = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: cache) }
        let daemon = try Daemon(environment: ["XDG_CACHE_HOME": cache.path])
        let classify = daemon.url + "/v1/classify"
        #expect(try Curl.post(BadInputTests.seven, to: classify).status == 200)
        #expect(try Curl.post(BadInputTests.seven, to: classify).status == 200)
        #expect(try Curl.run(classify, ["--data-binary", "no picture"]).status == 415)
        #expect(try Curl.run(classify).status == 405)
        #expect(try Curl.run(daemon.url + "/nothing/here").status == 404)
        #expect(try Curl.run(daemon.url + "/v1/models/digits").status == 200)
        #expect(try Curl.run(daemon.url + "/healthz", ["-X", "PATCH"]).status == 405)
        let answer = try Curl.run(daemon.url + "/metrics")
        #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let text = Self.normalised(answer.text)
        if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] != nil {
            try text.write(to: Self.golden, atomically: true, encoding: .utf8)
        }
        let golden = try String(contentsOf: Self.golden, encoding: .utf8)
        let difference = text.split(separator: "\n").difference(from: golden.split(separator: "\n"))
        #expect(difference.isEmpty, "\(difference); UPDATE_GOLDENS=1 writes the page")
        daemon.stop()
    }

    @Test(
        "promtool accepts /metrics and the alert rules, and each alert passes its test",
        .enabled(if: hasTool("promtool"), "promtool is not installed (apt install prometheus)"))
    func promtoolFindsNothingWrong() throws {
        let daemon = try Daemon()
        _ = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
        let page = try Curl.run(daemon.url + "/metrics").body
        let result = try Shell.run("promtool", ["check", "metrics"], input: page)
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        #expect(result.text + result.errors == "")
        let config = SharedData.packageRoot.appendingPathComponent("config")
        let rules = try Shell.run("promtool", ["check", "rules", config.path + "/alerts.yaml"])
        #expect(rules.status == 0, "\(rules.text)\(rules.errors)")
        // Each alert fires when it should, and not before.
        let fixture = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/alerts-test.yaml")
        let alerts = try Shell.run("promtool", ["test", "rules", fixture.path])
        #expect(alerts.status == 0, "\(alerts.text)\(alerts.errors)")
        let names = try String(contentsOf: config.appendingPathComponent("alerts.yaml"), encoding: .utf8)
            .matches(of: /- alert: (\w+)/).map { String($0.output.1) }
        let tested = try String(contentsOf: fixture, encoding: .utf8)
        for name in names { #expect(tested.contains("alertname: \(name)"), "\(name) is not tested") }
        // Counters in alerts on an increase exist at 0 from the start.
        let text = String(decoding: page, as: UTF8.self)
        for sample in [
            "ocelli_errors_total{code=\"internal\",reason=\"internal\"}", "ocelli_canaries_total{result=\"failed\"}",
        ] {
            #expect(Self.value(sample, in: text) == 0, "\(sample)")
        }
        daemon.stop()
    }

    @Test("each metric in the alert rules and the dashboard is on /metrics")
    func theRulesAndTheDashboardSpeakOfWhatThereIs() throws {
        let daemon = try Daemon()
        _ = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
        let page = try Curl.run(daemon.url + "/metrics").text
        let known = Set(
            page.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }.map(
                String.init))
        for file in ["alerts.yaml", "grafana-dashboard.json"] {
            let path = SharedData.packageRoot.appendingPathComponent("config/\(file)")
            let text = try String(contentsOf: path, encoding: .utf8)
            let names = text.matches(of: /\b(?:ocelli|process)_[a-z_]+\b/).map { String($0.output) }
            #expect(!names.isEmpty)
            for name in Set(names) {
                let base = ["_bucket", "_sum", "_count"].reduce(name) {
                    $0.hasSuffix($1) ? String($0.dropLast($1.count)) : $0
                }
                #expect(known.contains(base) || known.contains(name), "\(file): \(name)")
            }
        }
        daemon.stop()
    }

    @Test("docs/monitoring.md has each metric of the golden page and each alert, and no others")
    func theDocumentHasEveryMetricAndEveryAlert() throws {
        let document = SharedData.packageRoot.appendingPathComponent("docs/monitoring.md")
        var text = try String(contentsOf: document, encoding: .utf8)
        let page = try String(contentsOf: Self.golden, encoding: .utf8)
        let help = page.matches(of: /# HELP (\w+) (.+)\n# TYPE \w+ (\w+)/)
        let table =
            "| metric | type | what it says |\n| --- | --- | --- |\n"
            + help.map { "| `\($0.output.1)` | \($0.output.3) | \($0.output.2) |\n" }.joined()
        let title = try #require(text.range(of: "## Every metric\n\n"))
        if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] != nil {
            text = text[..<title.upperBound] + table
            try text.write(to: document, atomically: true, encoding: .utf8)
        }
        #expect(help.count > 40)
        #expect(text[title.upperBound...] == table, "UPDATE_GOLDENS=1 writes the table, from the golden page")
        let rules = SharedData.packageRoot.appendingPathComponent("config/alerts.yaml")
        let alerts = try String(contentsOf: rules, encoding: .utf8).matches(of: /- alert: (\w+)/).map { $0.output.1 }
        #expect(text.matches(of: /\n\| `(Ocelli\w+)` \|/).map { $0.output.1 }.sorted() == alerts.sorted())
    }

    @Test("clients that disconnect in a head or body count as cancelled or truncated at that stage")
    func clientsThatGoAreCountedByTheStageTheyWereIn() throws {
        let daemon = try Daemon()
        let port = try #require(daemon.url.split(separator: ":").last)
        // Half a head; a head and half a body.
        for half in [
            "POST /v1/classify HTT", "POST /v1/classify HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 100\\r\\n\\r\\nhalf",
        ] {
            let result = try Shell.run(
                "bash", ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(half)' >&3; sleep 0.2; exec 3>&-"])
            #expect(result.status == 0, "\(result.errors)")
        }
        // A head or body that ends by a half-close is answered with 400; a closed connection counts as a disconnected
        // client.
        var page = ""
        func ended() -> Double {
            [
                "ocelli_cancelled_total{stage=\"head\"}", "ocelli_cancelled_total{stage=\"body\"}",
                "ocelli_http_protocol_errors_total{reason=\"head_truncated\"}",
                "ocelli_http_protocol_errors_total{reason=\"body_truncated\"}",
            ]
            .reduce(0) { $0 + (Self.value($1, in: page) ?? 0) }
        }
        try eventually {
            page = try Curl.run(daemon.url + "/metrics").text
            return ended() >= 2
        }
        #expect(ended() == 2, "\(page)")
        #expect(Self.value("ocelli_cancelled_total{stage=\"queue\"}", in: page) == 0)
        daemon.stop()
    }
}

import Foundation
import TestSupport
import Testing

/// Draining and reloading while wrk sends requests as fast as possible.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: MetricsTests.hasTool("wrk"), "wrk is not installed"), .serialized)
struct DrainUnderLoadTests {
    /// A running wrk.
    private final class Load {
        private let process = Process()
        private let pipe = Pipe()

        init(_ url: String, seconds: Int) throws {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [
                "wrk", "-t1", "-c8", "-d\(seconds)s", "-s",
                SharedData.packageRoot.appendingPathComponent("Tests/Operations/classify.lua").path,
                url + "/v1/classify",
            ]
            process.environment = ProcessInfo.processInfo.environment.merging([
                "PICTURE": BadInputTests.seven.path
            ]) { $1 }
            process.standardOutput = pipe
            try process.run()
        }

        /// Answered requests, answers other than 2xx, and connections that ended without an answer.
        func end() -> (answered: Int, failed: Int, lost: Int, text: String) {
            let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            func number(_ pattern: Regex<(Substring, Substring)>) -> Int {
                text.firstMatch(of: pattern).flatMap { Int($0.output.1) } ?? 0
            }
            return (
                number(/(\d+) requests in/), number(/Non-2xx or 3xx responses: (\d+)/),
                // wrk counts refused connections as "connect" and "write": they were never accepted.
                number(/read (\d+), write/) + number(/timeout (\d+)/), text
            )
        }
    }

    @Test(
        "a daemon that is stopped under load answers each accepted request",
        arguments: TestEngines.names, 0..<LongTests.times(2, long: 20))
    func aDrainLosesNothing(engine: String, _ turn: Int) throws {
        let daemon = try Daemon(
            ["--access-log=false", "--engine", engine, "--models", TestEngines.models(for: engine).path]
                + (turn % 2 == 0 ? [] : ["--drain-delay", "200ms"]))
        let load = try Load(daemon.url, seconds: 2)
        // Wait for full load first, then for another moment each time.
        for _ in 0..<200 {
            let page = try Curl.run(daemon.url + "/metrics").text
            if MetricsTests.value("ocelli_pictures_total{model=\"digits\"}", in: page) ?? 0 > 50 { break }
            usleep(20_000)
        }
        usleep(useconds_t(turn * 7_000))
        #expect(daemon.stop() == 0, "\(daemon.log)")
        let result = load.end()
        #expect(result.answered > 0, "\(result.text)")
        #expect(result.failed == 0, "\(result.text)")
        #expect(result.lost == 0, "\(result.text)\(daemon.log)")
    }

    @Test(
        "many reloads of a changed model under load: no request fails, and no file stays open",
        arguments: TestEngines.names)
    func manyReloadsFailNothing(engine: String) throws {
        let count = LongTests.times(10, long: 100)
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: TestEngines.models(for: engine), to: models)
        defer { try? FileManager.default.removeItem(at: models) }
        let manifest = models.appendingPathComponent("digits/model.json")
        let daemon = try Daemon(["--access-log=false", "--models", models.path, "--engine", engine])
        let load = try Load(daemon.url, seconds: LongTests.times(5, long: 30))
        let start = daemon.openFiles
        for turn in 1...count {
            // Only a changed bundle is reloaded.
            try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: manifest.path)
            daemon.signal(SIGHUP)
            // Concurrent signals count as one, so wait for each reload.
            var reloads = 0.0
            for _ in 0..<400 where reloads < Double(turn) {
                usleep(10_000)
                let page = try Curl.run(daemon.url + "/metrics").text
                reloads = MetricsTests.value("ocelli_reloads_total{result=\"ok\"}", in: page) ?? 0
            }
            #expect(reloads == Double(turn))
        }
        let result = load.end()
        #expect(result.answered > 0)
        #expect(result.failed == 0, "\(result.text)")
        #expect(result.lost == 0, "\(result.text)")
        #expect(daemon.openFiles <= start + 1)
        let page = try Curl.run(daemon.url + "/metrics").text
        let loads = ["true", "false"].map { cached in
            MetricsTests.value("ocelli_model_load_seconds_count{model=\"digits\",cached=\"\(cached)\"}", in: page) ?? 0
        }
        #expect(loads.reduce(0, +) == Double(count) + 1)
        #expect(daemon.stop() == 0)
    }
}

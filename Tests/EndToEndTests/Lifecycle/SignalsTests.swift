import Foundation
import TestSupport
import Testing

/// SIGHUP, SIGTERM and the others, with and without load.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct SignalsTests {
    private static func temporary(_ text: String) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString).json5")
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    @Test("SIGHUP applies changed settings, and the log names those that need a restart")
    func aReloadTakesTheNewSettingsAndSaysWhichNeedARestart() throws {
        let file = try Self.temporary("{ top: 2, max_connections: 100, max_body: '30KiB' }")
        defer { try? FileManager.default.removeItem(at: file) }
        let daemon = try Daemon(["--config", file.path])
        let classify = daemon.url + "/v1/classify"
        func large() throws -> Int {
            try Curl.run(classify, ["--data-binary", "@-"], input: Data(count: 50_000)).status
        }
        /// Keeps the connection after a refused body, which is skipped up to `max_body`.
        func refusalKeepsConnection() throws -> Bool {
            let answer = try Curl.run(
                daemon.url + "/nothing", ["--data-binary", "@-"], input: Data(count: 50_000))
            #expect(answer.status == 404)
            return answer.headers["connection"] == nil
        }
        #expect(try large() == 413)
        #expect(try !refusalKeepsConnection())
        #expect(try Curl.post(BadInputTests.seven, to: classify).classifications.count == 2)
        try "{ top: 4, max_connections: 200, max_body: '60KiB', trusted_proxies: '10.0.0.0/8', log_format: 'json' }"
            .write(to: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("reload: done"))
        #expect(try Curl.post(BadInputTests.seven, to: classify).classifications.count == 4)
        #expect(daemon.log.contains("takes effect after a restart: trusted_proxies"), "\(daemon.log)")
        #expect(daemon.log.contains("\"message\":\"reload: done\""), "\(daemon.log)")
        #expect(try large() == 415, "its length is allowed now")
        #expect(try refusalKeepsConnection(), "its length is skipped now")
        #expect(daemon.log.contains("limits: max_body changed from 30KiB to 60KiB"), "\(daemon.log)")
        let page = try Curl.run(daemon.url + "/metrics").text
        #expect(MetricsTests.value("ocelli_connections_limit", in: page) == 200)
        #expect(MetricsTests.value("ocelli_reloads_total{result=\"ok\"}", in: page) == 1)
        #expect(daemon.stop() == 0)
    }

    /// Default model and settings are those at the arrival of the head, even if a reload changes them before the body
    /// arrives.
    @Test("a request whose body arrives after a reload keeps the model and settings of its head")
    func aRequestSeesOneConfiguration() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["first", "second"] {
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent("models/digits"),
                to: folder.appendingPathComponent(name))
        }
        let file = try Self.temporary("{ models: ['\(folder.path)'], default_model: 'first', top: 2, max_batch: 2 }")
        defer { try? FileManager.default.removeItem(at: file) }
        let daemon = try Daemon(["--config", file.path])
        let picture = try Data(contentsOf: BadInputTests.seven)
        let client = try RawClient(daemon.url)
        try client.send(
            "POST /v1/classify HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: \(picture.count)\r\n\r\n")
        #expect(try client.response().status == 100)
        try "{ models: ['\(folder.path)'], default_model: 'second', top: 4 }".write(
            to: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("reload: done"), "\(daemon.log)")
        try client.send(picture)
        let before = try Self.answer(try client.response())
        #expect(before.model == "first")
        #expect(before.classes == 2)
        try client.post(picture)
        let after = try Self.answer(try client.response())
        #expect(after.model == "second")
        #expect(after.classes == 4)
        #expect(daemon.stop() == 0)
    }

    private static func answer(_ response: RawClient.Response) throws -> (model: String, classes: Int) {
        #expect(response.status == 200, "\(response.text)")
        let json = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any] ?? [:]
        return (json["model"] as? String ?? "", (json["classifications"] as? [Any] ?? []).count)
    }

    /// Reloads add compiled models to the cache: a daemon that runs for months must keep its size, and change to a new
    /// one.
    @Test("SIGHUP with a new cache_size removes the files beyond that size")
    func aReloadKeepsTheCacheToItsSize() throws {
        let cache = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-cache-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: cache) }
        let file = try Self.temporary("{ cache_dir: '\(cache.path)' }")
        defer { try? FileManager.default.removeItem(at: file) }
        let daemon = try Daemon(["--config", file.path])
        let old = cache.appendingPathComponent("old.blob")
        try Data(count: 1 << 20).write(to: old)
        let size = "{ cache_dir: '\(cache.path)', cache_size: '512KiB' }"
        try size.write(to: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("reload: done"))
        #expect(!FileManager.default.fileExists(atPath: old.path), "\(daemon.log)")
        #expect(daemon.stop() == 0)
    }

    @Test(
        "SIGHUP with a bad settings file changes nothing, and is counted as failed",
        arguments: ["{ top: 0 }", "{ tops: 3 }", "{ top: ", "{ models: ['\(AbsentPath.path)'] }"])
    func aBadFileChangesNothingAndSaysWhy(_ text: String) throws {
        let file = try Self.temporary("{ top: 2 }")
        defer { try? FileManager.default.removeItem(at: file) }
        let daemon = try Daemon(["--config", file.path])
        try text.write(to: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("nothing has changed"))
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").classifications.count == 2)
        let page = try Curl.run(daemon.url + "/metrics").text
        #expect(MetricsTests.value("ocelli_reloads_total{result=\"failed\"}", in: page) == 1)
        #expect(MetricsTests.value("ocelli_last_reload_successful", in: page) == 0)
        #expect(daemon.stop() == 0)
    }

    @Test("SIGTERM with a drain delay: /readyz gets 503, and other requests are still answered")
    func readinessGoesAtOnceAndRequestsAreStillTakenForTheDelay() throws {
        let daemon = try Daemon(["--drain-delay", "2s"])
        daemon.signal(SIGTERM)
        #expect(daemon.waitForLog("draining"))
        let ready = try Curl.run(daemon.url + "/readyz")
        #expect(ready.status == 503)
        #expect(ready.code == "shutting_down")
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
        #expect(answer.status == 200)
        #expect(answer.headers["connection"] == "close")
        #expect(daemon.waitForExit() == 0)
        #expect(daemon.log.contains("every request was answered"))
    }

    /// Folders of models may be large and slow. A signal during the first scan ends the daemon at once.
    @Test("SIGTERM while large model folders are read ends the daemon before it listens")
    func aSignalWhileTheFoldersAreReadEndsTheDaemon() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-large-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let models = root.appendingPathComponent("models"), many = root.appendingPathComponent("many")
        for folder in [models, many] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        for number in 0..<4_000 { close(open("\(many.path)/\(number)", O_CREAT | O_WRONLY, 0o644)) }
        // Each bundle has links to itself, which lead nowhere new, and to thousands of files, which must all be read.
        for number in 0..<400 {
            let bundle = models.appendingPathComponent("m\(number)")
            try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
            try "{}".write(to: bundle.appendingPathComponent("model.json"), atomically: false, encoding: .utf8)
            for (name, target) in [("many", many.path), ("again", bundle.path), ("up", models.path)] {
                symlink(target, "\(bundle.path)/\(name)")
            }
        }
        let process = Process(), errors = Pipe()
        process.executableURL = Daemon.binary
        process.arguments = ["serve", "--listen", "127.0.0.1:0", "--models", models.path]
        process.environment = Shell.environment
        process.standardError = errors
        try process.run()
        let pid = process.processIdentifier
        func isReading() -> Bool {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []
            return files.contains { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(name)")
                return target?.hasPrefix(root.path) ?? false
            }
        }
        #expect(eventually(every: 0, { isReading() || !process.isRunning }))
        kill(pid, SIGTERM)
        if !eventually(every: 0.01, { !process.isRunning }) { kill(pid, SIGKILL) }
        process.waitUntilExit()
        let log = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(process.terminationReason == .exit && process.terminationStatus == 0, "\(log)")
        #expect(log.contains("stopped by a signal before it was listening"), "\(log)")
        #expect(!log.contains("listening on"), "\(log)")
    }

    @Test("SIGINT during a drain ends the daemon at once with status 130")
    func aSecondSignalEndsAtOnce() throws {
        let daemon = try Daemon(["--drain-delay", "60s"])
        daemon.signal(SIGTERM)
        #expect(daemon.waitForLog("draining"))
        daemon.signal(SIGINT)
        #expect(daemon.waitForExit(seconds: 20) == 130)
    }

    @Test(
        "SIGQUIT, SIGINT, SIGXCPU and SIGPWR drain and end the daemon with status 0",
        arguments: [SIGQUIT, SIGINT, SIGXCPU, SIGPWR])
    func everySignalToEndDrains(_ number: Int32) throws {
        let daemon = try Daemon()
        daemon.signal(number)
        #expect(daemon.waitForExit() == 0)
        #expect(daemon.log.contains("every request was answered"), "\(daemon.log)")
    }

    /// `timeout` sends SIGTERM to the program and to its process group.
    @Test("a second SIGTERM within a second of the first does not cut the drain short")
    func theSameSignalWithinASecondDoesNotEndAtOnce() throws {
        let daemon = try Daemon(["--drain-delay", "2s"])
        daemon.signal(SIGTERM)
        #expect(daemon.waitForLog("draining"))
        daemon.signal(SIGTERM)
        #expect(daemon.waitForExit() == 0)
        #expect(daemon.log.contains("every request was answered"), "\(daemon.log)")
    }

    @Test("a drain that leaves a request unanswered ends with status 3")
    func unansweredRequestsSetTheExitStatus() throws {
        let daemon = try Daemon(["--drain-timeout", "300ms", "--body-grace", "30s"])
        let port = try #require(daemon.url.split(separator: ":").last)
        // A request that is never finished.
        let client = Process()
        client.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let head = "POST /v1/classify HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 100\\r\\n\\r\\nhalf"
        client.arguments = [
            "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(head)' >&3; cat <&3 >/dev/null",
        ]
        try client.run()
        usleep(500_000)
        daemon.signal(SIGTERM)
        #expect(daemon.waitForExit() == 3)
        #expect(daemon.log.contains("1 requests unanswered"), "\(daemon.log)")
        client.waitUntilExit()
    }

    /// Each signal is sent as soon as the previous reload is counted, while that ends; Tests/Operations/reload-soak
    /// sends more.
    @Test("51 SIGHUPs, each sent when the previous reload was counted, are 51 reloads")
    func noReloadIsLost() throws {
        let daemon = try Daemon(["--access-log=false"], waitUntilReady: false)
        // A reload that is requested while the models load runs after that.
        daemon.signal(SIGHUP)
        for turn in 1...50 {
            #expect(Self.waitForReloads(turn, of: daemon), "reload \(turn) did not come")
            daemon.signal(SIGHUP)
        }
        #expect(Self.waitForReloads(51, of: daemon))
        #expect(daemon.stop() == 0)
    }

    /// Signals do not queue: many at once cause at least one reload after the last of them.
    @Test("after a burst of SIGHUPs the last written settings count")
    func aBurstOfSignalsIsFollowedByAReloadWithTheLastState() throws {
        let file = try Self.temporary("{ top: 2 }")
        defer { try? FileManager.default.removeItem(at: file) }
        let daemon = try Daemon(["--config", file.path])
        for top in [3, 4, 5, 6, 7, 4] {
            try "{ top: \(top) }".write(to: file, atomically: true, encoding: .utf8)
            daemon.signal(SIGHUP)
        }
        var found = 0
        try eventually {
            found = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").classifications.count
            return found == 4
        }
        #expect(found == 4)
        let page = try Curl.run(daemon.url + "/metrics").text
        let reloads = MetricsTests.value("ocelli_reloads_total{result=\"ok\"}", in: page) ?? 0
        #expect((1...6).contains(reloads))
        #expect(daemon.stop() == 0)
    }

    /// Waits, for a limited time, until a number of reloads have succeeded.
    static func waitForReloads(_ count: Int, of daemon: Daemon) -> Bool {
        var reloads = 0.0
        eventually(every: 0.01) {
            let page = (try? Curl.run(daemon.url + "/metrics").text) ?? ""
            reloads = MetricsTests.value("ocelli_reloads_total{result=\"ok\"}", in: page) ?? 0
            return reloads >= Double(count)
        }
        return reloads == Double(count)
    }

    @Test("SIGTERM while models load ends the daemon with status 0")
    func aSignalToEndDoesNotWaitForModelsThatAreLoaded() throws {
        let daemon = try Daemon(waitUntilReady: false)
        daemon.signal(SIGTERM)
        #expect(daemon.waitForExit() == 0, "\(daemon.log)")
        #expect(daemon.log.contains("every request was answered"), "\(daemon.log)")
    }

    @Test("signals without a meaning for the daemon, such as SIGUSR1, do not end the process")
    func signalsThatSayNothingToTheDaemonDoNothing() throws {
        let daemon = try Daemon()
        let realTime = [34, 50, 64] as [Int32]
        for number in [SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGSTKFLT, SIGXFSZ] + realTime {
            daemon.signal(number)
        }
        usleep(200_000)
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").status == 200)
        #expect(daemon.stop() == 0)
    }

    /// Loads on request add to the cache like reloads.
    @Test("a load by request removes cache files beyond cache_size")
    func aLoadByRequestKeepsTheCacheToItsSize() throws {
        let cache = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-cache-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: cache) }
        let daemon = try Daemon(["--cache-dir", cache.path, "--cache-size", "512KiB"])
        // Empty the cache, so that the model is compiled again. Files with names that begin with a dot are temporary.
        for name in try FileManager.default.contentsOfDirectory(atPath: cache.path) where !name.hasPrefix(".") {
            try FileManager.default.removeItem(at: cache.appendingPathComponent(name))
        }
        let old = cache.appendingPathComponent("old.blob")
        try Data(count: 1 << 20).write(to: old)
        #expect(try Curl.run(daemon.url + "/v2/repository/models/digits/load", ["--data", "{}"]).status == 200)
        #expect(eventually { !FileManager.default.fileExists(atPath: old.path) }, "\(daemon.log)")
        #expect(daemon.stop() == 0)
    }
}

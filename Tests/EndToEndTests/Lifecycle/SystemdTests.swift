import Foundation
import TestSupport
import Testing

/// The daemon under systemd: messages, passed sockets, units.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct SystemdTests {
    static let units = SharedData.packageRoot.appendingPathComponent("systemd")

    @Test("systemd gets READY, WATCHDOG, RELOADING and STOPPING messages over a daemon's life")
    func everyMessageOfALife() throws {
        let listener = try NotifySocket()
        let daemon = try Daemon(environment: ["NOTIFY_SOCKET": listener.path, "WATCHDOG_USEC": "1000000"])
        #expect(listener.wait(for: "READY=1"))
        let start = listener.messages
        #expect(start.contains { $0.contains("EXTEND_TIMEOUT_USEC=") }, "\(start)")
        #expect(start.contains { $0.contains("READY=1") && $0.contains("STATUS=serving 1 of 1 models on 127.0.0.1:") })
        // Canaries run before the watchdog is fed, and continue.
        #expect(listener.wait(for: "WATCHDOG=1", count: 2))
        let page = try Curl.run(daemon.url + "/metrics").text
        #expect((MetricsTests.value("ocelli_canaries_total{result=\"ok\"}", in: page) ?? 0) >= 2)
        daemon.signal(SIGHUP)
        #expect(listener.wait(for: "READY=1", count: 2))
        let reload = try #require(listener.messages.first { $0.hasPrefix("RELOADING=1") })
        let time = try #require(reload.firstMatch(of: /MONOTONIC_USEC=(\d+)/).flatMap { UInt64($0.output.1) })
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        #expect(time <= UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000)
        #expect(daemon.stop() == 0)
        #expect(listener.messages.contains { $0.hasPrefix("STOPPING=1\nSTATUS=draining") })
    }

    /// A service manager that does not read its messages costs moments only: the daemon answers, and ends when asked.
    @Test("an unread notify socket does not stop the daemon from answering and ending")
    func nobodyReadsTheMessages() throws {
        let listener = try NotifySocket()
        listener.fill()
        let daemon = try Daemon(environment: ["NOTIFY_SOCKET": listener.path, "WATCHDOG_USEC": "300000"])
        #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        // By now the watchdog and the drain have sent messages.
        usleep(500_000)
        #expect(try Curl.run(daemon.url + "/v1/models").status == 200)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("with WATCHDOG_PID of another process the daemon sends no watchdog messages")
    func theWatchdogIsFedByItsProcessOnly() throws {
        let listener = try NotifySocket()
        let daemon = try Daemon(
            environment: ["NOTIFY_SOCKET": listener.path, "WATCHDOG_USEC": "300000", "WATCHDOG_PID": "1"])
        #expect(listener.wait(for: "READY=1"))
        usleep(500_000)
        #expect(!listener.messages.contains { $0.contains("WATCHDOG=1") })
        daemon.stop()
    }

    @Test(
        "systemd-analyze accepts the units, and rates their exposure below 2.0",
        .enabled(if: MetricsTests.hasTool("systemd-analyze"), "systemd-analyze is not installed"))
    func theUnitsAreRightAndTight() throws {
        // The verification needs an existing ExecStart: the units are checked with this binary in it.
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-units-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["ocelli.service", "ocelli.socket"] {
            let text = try String(contentsOf: Self.units.appendingPathComponent(name), encoding: .utf8)
            try text.replacingOccurrences(of: "/usr/bin/ocelli", with: Daemon.binary.path)
                .write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }
        let verify = try Shell.run(
            "systemd-analyze", ["verify", "--man=no", "ocelli.service", "ocelli.socket"], directory: folder)
        let said = (verify.text + verify.errors).split(separator: "\n").filter { $0.contains("ocelli.") }
        #expect(said.isEmpty, "\(said)")
        let security = try Shell.run(
            "systemd-analyze", ["security", "--offline=yes", "--no-pager", folder.path + "/ocelli.service"])
        let level = try #require(security.text.firstMatch(of: /exposure level[^:]*: ([0-9.]+)/))
        #expect(try #require(Double(level.output.1)) < 2.0, "\(security.text)")
    }

    /// A restart by socket activation refuses no connection: the socket stays open between one process and the next.
    /// The packaged configuration works: passed sockets replace `listen`.
    @Test(
        "a daemon started by systemd-socket-activate serves the connection that started it",
        .enabled(if: MetricsTests.hasTool("systemd-socket-activate"), "systemd-socket-activate is not installed"))
    func aPassedSocketIsServed() throws {
        let port = Int.random(in: 20_000...29_999)
        // All in one shell: systemd-socket-activate closes every descriptor, including the one by which Foundation
        // would notice its end.
        let script = """
            systemd-socket-activate -l 127.0.0.1:\(port) -E XDG_CACHE_HOME='\(Daemon.cache.path)' \
                '\(Daemon.binary.path)' serve </dev/null >/dev/null 2>&1 &
            child=$!
            sleep 0.3
            curl -sS --max-time 30 --data-binary @'\(BadInputTests.seven.path)' \
                http://127.0.0.1:\(port)/v1/classify
            kill $child
            wait $child
            echo " exit=$?"
            """
        let result = try Shell.run("bash", ["-c", script])
        // The first connection starts the daemon, and its request waits until the model is loaded.
        #expect(result.text.contains("\"label\":\"7\""), "\(result.text)\(result.errors)")
        #expect(result.text.hasSuffix(" exit=0\n"), "\(result.text)\(result.errors)")
    }
}

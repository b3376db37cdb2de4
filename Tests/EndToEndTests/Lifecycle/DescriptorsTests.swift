import Foundation
import TestSupport
import Testing

/// The daemon has fewer descriptors than its clients need.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: Shell.has("prlimit"), "prlimit (util-linux) is not installed"), .serialized)
struct DescriptorsTests {
    private static let health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    /// A request that holds its connection, which cannot be closed for another.
    private static let half = "POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"

    /// The first line of the answer to a request; empty if its connection was closed or reset.
    private func firstLine(of client: RawClient?) -> String? {
        client?.offer(Self.health)
        return client?.receive(seconds: 30).prefix { !$0.isNewline }.description
    }

    /// The daemon's processor time in seconds.
    private func processorTime(_ daemon: Daemon) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(daemon.pid)/stat", encoding: .utf8)
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        return (Double(fields[12]) ?? 0) / 100 + (Double(fields[13]) ?? 0) / 100
    }

    private func limit(_ daemon: Daemon, to count: Int) throws {
        #expect(try Shell.run("prlimit", ["--pid", "\(daemon.pid)", "--nofile=\(count):"]).status == 0)
    }

    private func refused(_ daemon: Daemon) throws -> Double {
        let page = try Curl.run(daemon.url + "/metrics").text
        return MetricsTests.value("ocelli_connections_refused_total", in: page) ?? -1
    }

    @Test("without free file descriptors: idle clients are closed and new ones refused until descriptors are free")
    func theDaemonStaysUpAndRecovers() throws {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: SharedData.packageRoot.appendingPathComponent("models"), to: models)
        defer { try? FileManager.default.removeItem(at: models) }
        let daemon = try Daemon(["--access-log=false", "--body-grace", "60s", "--models", models.path])
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").status == 200)
        // Work after the start may hold files for a moment.
        var open = daemon.openFiles
        eventually {
            let before = open
            usleep(500_000)
            open = daemon.openFiles
            return open == before
        }
        let room = 20
        try limit(daemon, to: open + room)
        // Idle connections are closed: the last client is served.
        let idle = (0..<60).compactMap { _ in try? RawClient(daemon.url) }
        #expect(idle.count == 60)
        #expect(firstLine(of: idle.last) == "HTTP/1.1 200 OK")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").status == 200)
        #expect(try refused(daemon) == 0)
        // Connections with a request in progress are not closed: new clients are refused at once.
        var holders = (0..<60).compactMap { _ in try? RawClient(daemon.url) }
        for holder in holders { holder.offer(Self.half) }
        var reported = false
        for _ in 0..<200 where !reported {
            reported = (try? firstLine(of: RawClient(daemon.url))) == ""
            // A holder that was closed as idle, before its request was read, left its place.
            guard !reported, let holder = try? RawClient(daemon.url) else { continue }
            holder.offer(Self.half)
            holders.append(holder)
            usleep(20_000)
        }
        #expect(reported, "everybody found a place: is the limit in force?")
        // It does not spin while 60 clients wait and none can be served.
        let before = try processorTime(daemon)
        sleep(2)
        #expect(try processorTime(daemon) - before < 1)
        // A reload gets no descriptors for its files, and changes nothing.
        let manifest = models.appendingPathComponent("digits/model.json")
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: manifest.path)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("SIGHUP"))
        eventually { daemon.log.contains("nothing has changed") || daemon.log.contains("reload: done") }
        holders = []
        var answer = ""
        eventually {
            answer = (try? firstLine(of: RawClient(daemon.url))) ?? ""
            return !answer.isEmpty
        }
        #expect(answer == "HTTP/1.1 200 OK")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7", "\(daemon.log)")
        #expect(try refused(daemon) > 0)
        try limit(daemon, to: 1024)
        daemon.signal(SIGHUP)
        var loads = 0.0
        try eventually {
            let page = try Curl.run(daemon.url + "/metrics").text
            loads = ["true", "false"].compactMap { cached in
                MetricsTests.value(
                    "ocelli_model_load_seconds_count{model=\"digits\",cached=\"\(cached)\"}", in: page)
            }.reduce(0, +)
            return loads >= 2
        }
        #expect(loads >= 2, "\(daemon.log)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("with any limit of open files from 3 to 64 the daemon starts, or ends with the reason in one line")
    func theStartWorksOrSaysWhyNot() throws {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"),
            to: models.appendingPathComponent("digits"))
        defer { try? FileManager.default.removeItem(at: models) }
        var started: [Int] = []
        for (arguments, limits) in [([String](), Array(3...64)), (["--event-loops", "8"], [32, 40, 48, 56, 64])] {
            for limit in limits {
                do {
                    let daemon = try Daemon(
                        ["--models", models.path] + arguments,
                        launcher: ["sh", "-c", "ulimit -n \(limit); exec \"$@\"", "sh"])
                    #expect(try Curl.run(daemon.url + "/healthz").status == 200, "\(limit)")
                    let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
                    #expect(answer.topLabel == "7", "\(limit): \(answer.text)\(daemon.log)")
                    #expect(daemon.stop() == 0, "\(limit): \(daemon.log)")
                    if arguments.isEmpty { started.append(limit) }
                } catch let failure as Daemon.Failure {
                    // Below its own needs, the dynamic loader prints the message.
                    #expect(failure.status == 1 || failure.status == 127, "\(limit): \(failure.status) \(failure.log)")
                    let lines = failure.log.split(separator: "\n")
                    #expect(lines.count == 1 && lines[0].contains("open"), "\(limit): \(failure.log)")
                }
            }
        }
        // All limits above a working one work, and at least the upper half of them does.
        #expect(started.last == 64 && started.first ?? .max <= 32)
        #expect(started.count == 64 - (started.first ?? 64) + 1, "\(started)")
    }
}

import Foundation
import TestSupport
import Testing

/// The daemon has fewer descriptors than clients want of it.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: Shell.has("prlimit"), "prlimit (util-linux) is not installed"), .serialized)
struct DescriptorsTests {
    /// A TCP connection that does what it is told.
    private final class Client {
        private let descriptor: Int32

        init?(_ daemon: Daemon) {
            guard let port = daemon.url.split(separator: ":").last.flatMap({ UInt16($0) }) else { return nil }
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard descriptor >= 0 else { return nil }
            var wait = timeval(tv_sec: 30, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else { return nil }
        }

        deinit { if descriptor >= 0 { close(descriptor) } }

        func send(_ text: String) {
            let bytes = [UInt8](text.utf8)
            _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }

        /// The first line of an answer; empty where the connection was closed or reset.
        func answer() -> String {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != 13 }, as: UTF8.self)
        }
    }

    private static let health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    /// A request that holds its connection, and cannot be closed for another.
    private static let half = "POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"

    /// Processor time of the daemon in seconds.
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

    @Test func theDaemonStaysUpAndRecovers() throws {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: SharedData.packageRoot.appendingPathComponent("models"), to: models)
        defer { try? FileManager.default.removeItem(at: models) }
        let daemon = try Daemon(["--access-log=false", "--body-grace", "60s", "--models", models.path])
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").status == 200)
        let room = 20
        try limit(daemon, to: daemon.openFiles + room)
        // Idle connections give way: who comes last is served.
        let idle = (0..<60).compactMap { _ in Client(daemon) }
        #expect(idle.count == 60)
        idle.last?.send(Self.health)
        #expect(idle.last?.answer() == "HTTP/1.1 200 OK")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").status == 200)
        #expect(try refused(daemon) == 0)
        // Connections with a request under way do not: who comes now is told at once.
        var holders = (0..<60).compactMap { _ in Client(daemon) }
        for holder in holders { holder.send(Self.half) }
        var told = false
        for _ in 0..<200 where !told {
            let late = Client(daemon)
            late?.send(Self.health)
            told = late?.answer() == ""
        }
        #expect(told, "everybody found a place: is the limit in force?")
        // Nor does it spin, with nobody to serve and 60 who would like to be.
        let before = try processorTime(daemon)
        sleep(2)
        #expect(try processorTime(daemon) - before < 1)
        // A reload finds no descriptors for its files, and leaves everything as it is.
        let manifest = models.appendingPathComponent("digits/model.json")
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: manifest.path)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("SIGHUP"))
        for _ in 0..<100 where !daemon.log.contains("nothing has changed") && !daemon.log.contains("reload: done") {
            usleep(50_000)
        }
        holders = []
        var answer = ""
        for _ in 0..<200 where answer.isEmpty {
            let client = Client(daemon)
            client?.send(Self.health)
            answer = client?.answer() ?? ""
            usleep(20_000)
        }
        #expect(answer == "HTTP/1.1 200 OK")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7", "\(daemon.log)")
        #expect(try refused(daemon) > 0)
        try limit(daemon, to: 1024)
        daemon.signal(SIGHUP)
        var loads = 0.0
        for _ in 0..<200 where loads < 2 {
            let page = try Curl.run(daemon.url + "/metrics").text
            loads = ["true", "false"].compactMap { cached in
                MetricsTests.value(
                    "ocelli_model_load_seconds_count{model=\"digits\",cached=\"\(cached)\"}", in: page)
            }.reduce(0, +)
            usleep(25_000)
        }
        #expect(loads >= 2, "\(daemon.log)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}

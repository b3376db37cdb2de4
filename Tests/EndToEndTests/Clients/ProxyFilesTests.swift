import Foundation
import TestSupport
import Testing

/// config/nginx.conf, config/haproxy.cfg and config/Caddyfile hide operators' routes from clients, in every spelling of
/// their paths.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct ProxyFilesTests {
    private struct Missing: Error, CustomStringConvertible { let description: String }

    /// A proxy with its example configuration before a daemon; only ports and the places of its files are changed.
    private final class Proxy {
        let url: String
        private let process = Process()
        private let folder: URL
        private let port: ReservedPort

        init(_ name: String, before daemon: Daemon) throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent(
                "ocelli-\(name)-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            port = try ReservedPort()
            url = "http://127.0.0.1:\(port.number)"
            let backend = daemon.url.replacingOccurrences(of: "http://", with: "")
            let file = ["nginx": "nginx.conf", "haproxy": "haproxy.cfg"][name] ?? "Caddyfile"
            var text = try String(
                contentsOf: SharedData.packageRoot.appendingPathComponent("config/\(file)"), encoding: .utf8)
            text = text.replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(port.number)")
            for address in ["127.0.0.1:8081", "127.0.0.1:8082"] {
                text = text.replacingOccurrences(of: address, with: backend)
            }
            if name == "nginx" {
                let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map { "\($0)_temp_path \(folder.path)/\($0);" }.joined()
                text =
                    "pid \(folder.path)/nginx.pid; daemon off;\n"
                    + text.replacingOccurrences(of: "http {", with: "http { access_log off; \(places)")
            }
            if name == "caddy" {
                // Without certificates, because the name does not exist.
                text = "{\nadmin off\n}\n" + text.replacingOccurrences(of: "ocelli.example {", with: "\(url) {")
            }
            let configuration = folder.appendingPathComponent(file).path
            try text.write(toFile: configuration, atomically: true, encoding: .utf8)
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments =
                switch name {
                case "nginx": ["/usr/sbin/nginx", "-p", folder.path, "-e", "stderr", "-c", configuration]
                case "haproxy": ["/usr/sbin/haproxy", "-db", "-f", configuration]
                default:
                    [
                        "HOME=\(folder.path)", "/usr/bin/caddy", "run", "--adapter", "caddyfile", "--config",
                        configuration,
                    ]
                }
            process.standardError = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            guard eventually({ (try? Curl.run(url + "/v1/models").status) == 200 }) else {
                throw Missing(description: "\(name) does not pass requests on")
            }
        }

        deinit {
            process.terminate()
            process.waitUntilExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// Spellings of a path that a server may take as equal: each character encoded, in either case, all of them, the
    /// absolute form, doubled and dotted segments.
    private static func spellings(_ path: String) -> [String] {
        let bytes = Array(path.utf8)
        func encoded(_ indexes: Set<Int>, uppercase: Bool) -> String {
            bytes.indices.map { index in
                guard indexes.contains(index), bytes[index] != UInt8(ascii: "/") else {
                    return String(decoding: [bytes[index]], as: UTF8.self)
                }
                return "%" + String(bytes[index], radix: 16, uppercase: uppercase)
            }.joined()
        }
        var all = [path, "http://127.0.0.1" + path, "/." + path, "/x/.." + path, "/" + path, path + "?x", path + ";x"]
        for index in bytes.indices.dropFirst() {
            all += [encoded([index], uppercase: false), encoded([index], uppercase: true)]
        }
        all += [encoded(Set(bytes.indices), uppercase: false), encoded(Set(bytes.indices), uppercase: true)]
        all.append("http://127.0.0.1" + encoded(Set(bytes.indices), uppercase: false))
        all.append(path.replacingOccurrences(of: "v2/", with: "v2%2F"))
        all.append(encoded(Set(bytes.indices), uppercase: false).replacingOccurrences(of: "%", with: "%25"))
        return all
    }

    private static func has(_ name: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/sbin/\(name)")
    }

    @Test(
        "config/nginx.conf refuses metrics and repository routes in each spelling",
        .enabled(if: Self.has("nginx"), "nginx is not installed"))
    func operatorsRoutesAreClosedInEverySpellingByNginx() throws {
        try expectOperatorsRoutesAreClosed("nginx")
    }

    @Test(
        "config/haproxy.cfg refuses metrics and repository routes in each spelling",
        .enabled(if: Self.has("haproxy"), "haproxy is not installed"))
    func operatorsRoutesAreClosedInEverySpellingByHAProxy() throws {
        try expectOperatorsRoutesAreClosed("haproxy")
    }

    @Test(
        "config/Caddyfile refuses metrics and repository routes in each spelling",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/caddy"), "caddy is not installed"))
    func operatorsRoutesAreClosedInEverySpellingByCaddy() throws {
        try expectOperatorsRoutesAreClosed("caddy")
    }

    private func expectOperatorsRoutesAreClosed(_ name: String) throws {
        // The proxy must refuse, not the daemon.
        let daemon = try Daemon(["--repository-control", "all"])
        let proxy = try Proxy(name, before: daemon)
        #expect(try Curl.post(BadInputTests.seven, to: proxy.url + "/v1/classify").status == 200)
        for path in ["/metrics", "/v2/repository/index", "/v2/repository/models/digits/unload"] {
            for spelling in Self.spellings(path) {
                let client = try RawClient(proxy.url)
                let method = path == "/metrics" ? "GET" : "POST"
                try client.send("\(method) \(spelling) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n")
                let status = try client.response().status
                #expect((400...499).contains(status), "\(method) \(spelling): \(status)")
            }
        }
        #expect(try Curl.run(daemon.url + "/v1/models/digits").json["state"] as? String == "ready")
        withExtendedLifetime(proxy) {}
        #expect(daemon.stop() == 0)
    }
}

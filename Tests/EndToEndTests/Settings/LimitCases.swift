import Foundation
import TestSupport

extension SettingsCase {
    /// The limits of requests and connections.
    static let limits = SettingsCase(
        title: "limits of requests and connections",
        settings: [
            "max_body": "48KiB", "max_request_line": "200", "max_header": "1KiB", "max_header_fields": "20",
            "header_timeout": "300ms", "min_body_rate": "64KiB", "body_grace": "300ms", "idle_timeout": "500ms",
            "write_timeout": "300ms", "max_connections": "8", "access_log": "false",
        ],
        checks: [
            "max_body": { running in
                let answer = try Curl.run(
                    running.url + "/v1/classify", ["--data-binary", "@-"], input: Data(count: 60_000))
                return unless(answer.status == 413 && answer.code == "body_too_large", answer.text)
            },
            "max_request_line": { running in
                let answer = try Curl.run(running.url + "/" + String(repeating: "x", count: 300))
                return unless(answer.status == 414, answer.text)
            },
            "max_header": { running in
                let answer = try Curl.run(
                    running.url + "/healthz", ["-H", "Long: " + String(repeating: "x", count: 2000)])
                return unless(answer.status == 431, answer.text)
            },
            "max_header_fields": { running in
                let fields = (0..<30).flatMap { ["-H", "f\($0): x"] }
                let answer = try Curl.run(running.url + "/healthz", fields)
                return unless(answer.status == 431, answer.text)
            },
            "header_timeout": { running in
                let client = try RawClient(running.url)
                client.offer("POST /v1/cla")
                return unless(client.receive().contains(" 408 "), "after 3 s: \(client.received)")
            },
            "min_body_rate": { running in
                let client = try RawClient(running.url)
                client.offer("POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n")
                // 5 KB/s: faster than the default requires, slower than this case does.
                for _ in 0..<20 where !client.received.contains(" 408 ") {
                    client.offer(Data(count: 500))
                    client.receive(seconds: 0.1)
                }
                return unless(client.received.contains(" 408 "), "after 2 s: \(client.received)")
            },
            "body_grace": { running in
                let client = try RawClient(running.url)
                client.offer("POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\nx")
                return unless(client.receive().contains(" 408 "), "after 3 s: \(client.received)")
            },
            "idle_timeout": { running in
                let client = try RawClient(running.url)
                client.offer("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                guard client.receive().contains(" 200 ") else { return client.received }
                return unless(client.waitForEnd(), "the connection was still open after 3 s")
            },
            "write_timeout": { running in
                let client = try RawClient(running.url)
                defer { withExtendedLifetime(client) {} }
                // More than the buffers of both sides hold; the client reads none of it.
                let request = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
                for _ in 0..<60 { client.offer(String(repeating: request, count: 20)) }
                var count = 0.0
                try eventually {
                    count = try running.metric("ocelli_connections_slow_readers_total")
                    return count > 0
                }
                return unless(count == 1, "\(count) slow readers after 3 s")
            },
            "max_connections": { running in
                let clients = try (0..<16).map { _ in
                    let client = try RawClient(running.url)
                    client.offer("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                    client.receive()
                    return client
                }
                // Idle connections make room for new ones, the oldest first.
                let evicted = try running.metric("ocelli_connections_evicted_total")
                return unless(evicted >= 8 && clients[0].waitForEnd(), "\(evicted) of \(clients.count) had to go")
            },
            "access_log": { running in
                _ = try Curl.run(running.url + "/v1/models")
                usleep(300_000)
                return unless(
                    running.daemon.log.contains("limits: ") && !running.log.contains(" id="), running.daemon.log)
            },
        ])

    static let connections = SettingsCase(
        title: "addresses and event loops",
        settings: [
            "listen": "unix:{}/socket", "event_loops": "2", "max_requests_per_connection": "2", "deadline": "20ms",
            "probe_half_closed": "false",
        ],
        checks: [
            "listen": { running in
                let path = running.folder.appendingPathComponent("socket").path
                let answer = try Curl.run("http://localhost/healthz", ["--unix-socket", path])
                return unless(answer.status == 200, "curl ended with \(answer.exit)")
            },
            "event_loops": { running in
                let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(running.daemon.pid)/task")
                let names = tasks.compactMap {
                    try? String(contentsOfFile: "/proc/\(running.daemon.pid)/task/\($0)/comm", encoding: .utf8)
                }
                return unless(names.filter { $0.hasPrefix("http-") }.count == 2, "\(names)")
            },
            "max_requests_per_connection": { running in
                let client = try RawClient(running.url)
                client.offer(String(repeating: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", count: 3))
                let isEnded = client.waitForEnd()
                let answers = client.received.components(separatedBy: " 200 OK").count - 1
                return unless(isEnded && answers == 2, "\(answers) answers, ended: \(isEnded)")
            },
            "probe_half_closed": { running in
                let client = try RawClient(running.url)
                try client.post(CancellationPicture.png(width: 7700, height: 7700))
                client.finish()
                let text = client.receive()
                return unless(text.hasPrefix("HTTP/1.1 504 "), text)
            },
            "deadline": { running in
                // Decoding takes far longer than the deadline.
                let picture = CancellationPicture.png(width: 7700, height: 7700)
                let answer = try Curl.run(running.url + "/v1/classify", ["--data-binary", "@-"], input: picture)
                return unless(answer.status == 504, answer.text)
            },
        ])

    static let decoding = SettingsCase(
        title: "the memory of all pictures that are decoded at a time", settings: ["max_total_decode": "64MiB"],
        checks: [
            "max_total_decode": { running in
                // Held as a whole, in 44 MB each: one is decoded, the others wait.
                let picture = CancellationPicture.png(width: 3200, height: 3200, isInterlaced: true)
                let head =
                    "POST /v1/classify HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n"
                    + "Content-Length: \(picture.count)\r\n\r\n"
                let clients = try (0..<3).map { _ in try RawClient(running.url) }
                for client in clients { client.offer(Data(head.utf8) + picture) }
                var waiting = 0.0
                try eventually {
                    waiting = max(waiting, try running.metric("ocelli_decodes_waiting"))
                    return waiting > 0
                }
                let answers = clients.filter { $0.receive(seconds: 20).contains(" 200 OK") }.count
                let limit = try running.metric("ocelli_decode_bytes_limit")
                return unless(
                    waiting > 0 && limit == 67_108_864 && answers == 3,
                    "\(waiting) waited, the limit is \(limit), \(answers) were answered")
            }
        ])

    /// The memory for input sizes is not available for pictures.
    static let shapes = SettingsCase(
        title: "the memory for sizes of inputs", settings: ["shape_cache": "5MiB"],
        also: ["models": "{}/models", "max_total_decode": "100MiB"],
        prepare: { folder in
            let models = folder.appendingPathComponent("models")
            try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/own-size/models/identity"),
                to: models.appendingPathComponent("identity"))
        },
        checks: [
            "shape_cache": { running in
                // After a reload the previous model is released later.
                var limit = 0.0
                try eventually {
                    limit = try running.metric("ocelli_decode_bytes_limit")
                    return limit == 95 * 1_048_576
                }
                return unless(limit == 95 * 1_048_576, "\(limit)")
            }
        ])

    static let totals = SettingsCase(
        title: "all bodies and all answers together, and a body's time",
        settings: ["max_total_body": "64KiB", "max_total_answers": "128KiB", "body_timeout": "1s"],
        checks: [
            "max_total_answers": { running in
                let clients = try (0..<8).map { _ in try RawClient(running.url) }
                defer { withExtendedLifetime(clients) {} }
                // More than the buffers of both sides hold; the client reads none of it.
                let request = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
                for _ in 0..<60 { for client in clients { client.offer(String(repeating: request, count: 20)) } }
                var shed = 0.0
                try eventually {
                    shed = try running.metric("ocelli_answers_shed_total")
                    return shed > 0
                }
                let limit = try running.metric("ocelli_answer_bytes_limit")
                return unless(shed > 0 && limit == 131_072, "\(shed) shed, the limit is \(limit)")
            },
            "body_timeout": { running in
                let client = try RawClient(running.url)
                client.offer("POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n")
                // 2.5 KB/s: faster than min_body_rate; the tenth second exceeds body_grace.
                for _ in 0..<30 where !client.received.contains(" 408 ") {
                    client.offer(Data(count: 250))
                    client.receive(seconds: 0.1)
                }
                return unless(client.received.contains(" 408 "), "after 3 s: \(client.received)")
            },
            "max_total_body": { running in
                let clients = try (0..<3).map { _ in try RawClient(running.url) }
                // Otherwise an object, and its connection, may be released after its last use.
                defer { withExtendedLifetime(clients) {} }
                for client in clients {
                    client.offer("POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n")
                    client.offer(Data(count: 45_000))
                }
                var waiting = 0.0
                try eventually {
                    waiting = try running.metric("ocelli_bodies_waiting")
                    return waiting > 0
                }
                let limit = try running.metric("ocelli_body_bytes_limit")
                // A body beyond the whole budget is refused before it is sent.
                let large = try Curl.run(
                    running.url + "/v1/classify", ["--data-binary", "@-"], input: Data(count: 100_000))
                return unless(
                    waiting >= 1 && limit == 65_536 && large.status == 413,
                    "\(waiting) wait, the limit is \(limit), 100 kB: \(large.status)")
            },
        ])
}

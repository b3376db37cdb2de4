import Foundation
import TestSupport

extension SettingsCase {
    /// Sends pictures that take long to decode, eight at once, until a counter increases.
    private static func crowd(_ running: Running, until sample: String) throws -> String? {
        let request = RawClient.request(CancellationPicture.png(width: 7700, height: 7700))
        for _ in 0..<10 {
            let clients = try (0..<8).map { _ in try RawClient(running.url) }
            for client in clients { client.offer(request) }
            for client in clients { client.receive(seconds: 30) }
            if try running.metric(sample) > 0 { return nil }
        }
        return "\(sample) is 0"
    }

    static let length = SettingsCase(
        title: "the queue's length", settings: ["queue_length": "2"], also: ["max_in_flight": "1"],
        checks: ["queue_length": { try crowd($0, until: "ocelli_refused_total{reason=\"queue_full\"}") }])

    static let queue = SettingsCase(
        title: "the queue", settings: ["max_in_flight": "1", "queue_wait": "20ms"],
        checks: [
            "max_in_flight": { running in
                let limit = (try running.model()["in_flight"] as? [String: Any])?["limit"] as? Int
                return unless(limit == 1, "\(String(describing: limit))")
            },
            "queue_wait": { try crowd($0, until: "ocelli_refused_total{reason=\"wait_timed_out\"}") },
        ])

    static let target = SettingsCase(
        title: "the target under overload", settings: ["overload_target": "100ms"],
        also: ["max_in_flight": "1", "queue_length": "2"],
        checks: [
            "overload_target": { running in
                // More than one processor can decode, for longer than a burst: three large pictures every 50 ms.
                let request = RawClient.request(CancellationPicture.png(width: 7700, height: 7700))
                var clients: [RawClient] = []
                defer { withExtendedLifetime(clients) {} }
                let refused = "ocelli_refused_total{reason=\"overloaded\"}"
                // On a busy machine the daemon notices later.
                for _ in 0..<600 {
                    let fresh = try (0..<3).map { _ in try RawClient(running.url) }
                    for client in fresh { client.offer(request) }
                    // The earlier ones were refused or answered.
                    clients = Array((clients + fresh).suffix(300))
                    usleep(50_000)
                    if try running.metric(refused) > 0 { return nil }
                }
                return "\(refused) is 0"
            }
        ])

    static let policy = SettingsCase(
        title: "the overload policy", settings: ["overload_policy": "drop_oldest"],
        also: ["max_in_flight": "1", "queue_length": "1"],
        checks: ["overload_policy": { try crowd($0, until: "ocelli_refused_total{reason=\"displaced\"}") }])

    static let clients = SettingsCase(
        title: "the limits of a client", settings: ["client_in_flight": "1", "client_rate": "200"],
        checks: [
            "client_in_flight": {
                try crowd($0, until: "ocelli_errors_total{code=\"too_many_requests\",reason=\"client_in_flight\"}")
            },
            "client_rate": { running in
                let client = try RawClient(running.url)
                defer { withExtendedLifetime(client) {} }
                let request = "POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
                for _ in 0..<10 {
                    client.offer(String(repeating: request, count: 1000))
                    client.receive(seconds: 1)
                    if try running.metric("ocelli_errors_total{code=\"too_many_requests\",reason=\"client_rate\"}") > 0
                    {
                        return nil
                    }
                }
                return "10000 requests at once were all admitted"
            },
        ])

    static let delay = SettingsCase(
        title: "the delay of a drain", settings: ["drain_delay": "2s"],
        checks: [
            "drain_delay": { running in
                running.daemon.signal(SIGTERM)
                _ = running.daemon.waitForLog("draining")
                usleep(500_000)
                let answer = try Curl.run(running.url + "/readyz")
                return unless(answer.status == 503, "half a second after SIGTERM: \(answer.status)")
            }
        ])

    static let timeout = SettingsCase(
        title: "the end of a drain", settings: ["drain_timeout": "300ms"], also: ["body_grace": "60s"],
        checks: [
            "drain_timeout": { running in
                let client = try RawClient(running.url)
                defer { withExtendedLifetime(client) {} }
                client.offer("POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
                client.receive(seconds: 0.3)
                running.daemon.signal(SIGTERM)
                let status = running.daemon.waitForExit(seconds: 10)
                return unless(status == 3, "ended with \(status) within 10 s")
            }
        ])
}

import Foundation
import TestSupport

extension SettingsCase {
    private static let seven = BadInputTests.seven

    /// Settings of answers and of their log lines.
    static let answers = SettingsCase(
        title: "answers and their lines",
        settings: [
            "top": "3", "max_pixels": "100000", "max_batch": "2", "picture_formats": "jpeg,png,bmp,heic",
            "tolerate_truncated": "true", "max_deadline": "61s",
            "log_format": "json", "log_top_label": "true", "host_names": "vision.example",
            "cors_origins": "https://app.example", "dialects": "sagemaker,labelstudio",
            "labelstudio_files": "{}/pictures",
        ],
        prepare: { folder in
            let pictures = folder.appendingPathComponent("pictures")
            try FileManager.default.createDirectory(at: pictures, withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: seven, to: pictures.appendingPathComponent("seven.png"))
        },
        checks: [
            "top": { running in
                let count = try Curl.post(seven, to: running.url + "/v1/classify").classifications.count
                return unless(count == 3, "\(count) classes")
            },
            "max_pixels": { running in
                let picture = CancellationPicture.png(width: 400, height: 400)
                let answer = try Curl.run(running.url + "/v1/classify", ["--data-binary", "@-"], input: picture)
                return unless(answer.status == 413 && answer.code == "image_too_large", answer.text)
            },
            "picture_formats": { running in
                // The last one has the brand of HEIC.
                let item = "\0\0\0\u{14}ftypheic\0\0\0\0mif1" + "infe\u{2}\0\0\0\0\u{1}\0\0av01"
                let answers = try [("GIF", "GIF89a"), ("AVIF", item)].map { format, bytes in
                    (
                        format,
                        try Curl.run(running.url + "/v1/classify", ["--data-binary", "@-"], input: Data(bytes.utf8))
                    )
                }
                return unless(
                    answers.allSatisfy { format, answer in
                        answer.status == 415
                            && answer.error == "\(format) pictures are turned off here (picture_formats)"
                    }, answers.map { $0.1.text }.joined(separator: "; "))
            },
            "max_batch": { running in
                let parts = Array(repeating: ["-F", "image=@\(seven.path)"], count: 3).flatMap { $0 }
                let answer = try Curl.run(running.url + "/v1/classify", parts)
                return unless(answer.status == 400 && answer.error.contains("2"), answer.text)
            },
            "tolerate_truncated": { running in
                let picture = try Data(contentsOf: seven)
                let answer = try Curl.run(
                    running.url + "/v1/classify", ["--data-binary", "@-"], input: picture.prefix(picture.count / 2))
                return unless(answer.status == 200, answer.text)
            },
            "max_deadline": { running in
                let answer = try Curl.post(seven, to: running.url + "/v1/classify?timeout_ms=62000")
                return unless(answer.status == 400 && answer.error.contains("timeout_ms"), answer.text)
            },
            "cors_origins": { running in
                let answer = try Curl.run(running.url + "/v1/models", ["-H", "Origin: https://app.example"])
                return unless(answer.headers["access-control-allow-origin"] == "https://app.example", answer.text)
            },
            "dialects": { running in
                let ping = try Curl.run(running.url + "/ping"),
                    list = try Curl.run(running.url + "/v1/models/digits/metadata")
                return unless(ping.status == 200 && list.status == 404 && list.error.contains("(dialects)"), list.text)
            },
            "labelstudio_files": { running in
                let body = """
                    {"tasks": [{"data": {"image": "/data/local-files/?d=seven.png"}}], "label_config": "<View><Image name='i' \
                    value='$image'/><Choices name='c' toName='i'><Choice value='7'/></Choices></View>"}
                    """
                let answer = try Curl.run(running.url + "/predict", ["--data-binary", body])
                return unless(answer.text.contains("\"choices\":[\"7\"]"), answer.text)
            },
            "log_format": jsonLines,
            "host_names": { running in
                let answer = try Curl.run(
                    running.url + "/v2/repository/models/nosuch/unload", ["-H", "Host: vision.example", "--data", "{}"])
                return unless(answer.status == 404, answer.text)
            },
            "log_top_label": { running in
                _ = try Curl.post(seven, to: running.url + "/v1/classify")
                return unless(running.daemon.waitForLog("\"top\":\"7\""), running.daemon.log)
            },
        ])

    private static func cacheStatus(_ running: Running) throws -> String {
        try Curl.post(seven, to: running.url + "/v1/classify").headers["cache-status"] ?? "no Cache-Status"
    }

    static let sharing = SettingsCase(
        title: "kept answers", settings: ["answer_cache": "1MiB", "answer_cache_age": "1s"],
        checks: [
            "answer_cache": { running in
                let seen = try (0..<20).map { _ in try cacheStatus(running) }
                return unless(seen.contains("ocelli; hit"), "\(seen)")
            },
            "answer_cache_age": { running in
                var seen = try (0..<2).map { _ in try cacheStatus(running) }
                usleep(1_100_000)
                seen.append(try cacheStatus(running))
                return unless(seen.last == "ocelli; fwd=miss", "\(seen)")
            },
        ])

    private static func drift(_ running: Running) throws -> [String: Any] {
        try Curl.run(running.url + "/v1/models/digits/drift").json
    }

    private static func count(_ state: [String: Any], _ span: String) -> Int {
        (state[span] as? [String: Any])?["pictures"] as? Int ?? -1
    }

    /// Two different pictures by turns: with one in a second counted, hardly any of them would.
    static let drift = SettingsCase(
        title: "drift",
        settings: ["drift": "true", "drift_every": "0", "drift_reference": "100", "drift_pictures": "1000"],
        checks: [
            "drift": { running in
                let answer = try Curl.run(running.url + "/v1/models/digits/drift")
                return unless(answer.status == 200 && answer.json["signals"] is [Any], answer.text)
            },
            "drift_every": { running in
                let form = Array(repeating: ["-F", "image=@\(seven.path)"], count: 50).flatMap { $0 }
                for _ in 0..<3 { _ = try Curl.run(running.url + "/v1/classify", form) }
                let holds = try eventually(within: 10) { count(try drift(running), "recent") >= 150 }
                let state = try drift(running)
                return unless(holds, "\(state)")
            },
            "drift_reference": { running in
                let state = try drift(running)
                return unless(count(state, "reference") == 100 && state["state"] as? String != "learning", "\(state)")
            },
            "drift_pictures": { running in
                // A picture that is black: the evidence of seven signals passes 7,000, and not 7 times 3,600,000.
                let black = CancellationPicture.png(width: 64, height: 64)
                var state: [String: Any] = [:]
                for _ in 0..<60 where state["state"] as? String != "drifted" {
                    _ = try Curl.run(running.url + "/v1/classify", ["--data-binary", "@-"], input: black)
                    usleep(10_000)
                    state = try drift(running)
                }
                let evidence = (state["signals"] as? [[String: Any]] ?? []).compactMap { $0["evidence"] as? Double }
                return unless(
                    state["state"] as? String == "drifted" && (evidence.max() ?? 0) < 7 * 3_600_000, "\(state)")
            },
        ])

    /// Every line is a JSON object; a request's line has its fields, and nothing of the request's content.
    private static let jsonLines: Check = { running in
        let secret = "s3cr3t-s3cr3t-s3cr3t"
        let answer = try Curl.post(
            seven, to: running.url + "/v1/classify?threshold=0.0625",
            ["-H", "X-Request-ID: json-line", "-H", "Authorization: Bearer \(secret)"])
        _ = running.daemon.waitForLog("\"id\":\"json-line\"")
        // The last line may be incomplete.
        let lines = running.log.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        var found: [String: Any]?
        for line in lines {
            guard let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                fields["level"] is String, fields["message"] is String, fields["time"] is String
            else { return "not a log line: \(line)" }
            if fields["id"] as? String == "json-line" { found = fields }
        }
        guard let found else { return "no line of the request: \(running.daemon.log)" }
        guard found["route"] as? String == "/v1/classify", found["method"] as? String == "POST",
            found["status"] as? Int == 200, found["model"] as? String == "digits",
            found["outcome"] as? String == "answered",
            found["bytes_out"] as? Int == answer.body.count,
            found["bytes_in"] as? Int == (try Data(contentsOf: seven)).count,
            (found["client"] as? String)?.hasPrefix("127.0.0.1:") == true
        else { return "\(found)" }
        for time in ["ms", "recv_ms", "queue_ms", "decode_ms", "infer_ms", "encode_ms"] {
            guard let value = found[time] as? Double, value >= 0 else { return "\(time): \(found)" }
        }
        return unless(
            !running.daemon.log.contains(secret) && !running.daemon.log.contains("threshold"),
            "what was sent is in the log")
    }

    static let pipelines = SettingsCase(
        title: "pipelines", settings: ["max_crops": "3"],
        also: ["models": SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pipelines").path],
        checks: [
            "max_crops": { running in
                let answer = try Curl.post(seven, to: running.url + "/v1/models/all/detect")
                let found = answer.json["detections"] as? [[String: Any]] ?? []
                return unless(found.count { $0["color"] != nil } == 3, answer.text)
            }
        ])

    static let readers = SettingsCase(
        title: "readers", settings: ["max_lines": "3"],
        also: ["models": SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/readers/models").path],
        checks: [
            "max_lines": { running in
                let page = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/readers/pictures/page.png")
                let answer = try Curl.post(page, to: running.url + "/v1/read")
                return unless(
                    (answer.json["lines"] as? [Any])?.count == 3 && answer.json["skipped"] as? Int == 2, answer.text)
            }
        ])

    static let quiet = SettingsCase(
        title: "a quiet log", settings: ["log_level": "notice"],
        checks: [
            "log_level": { running in
                _ = try Curl.post(seven, to: running.url + "/v1/classify")
                usleep(300_000)
                let log = running.log
                return unless(
                    running.daemon.log.contains("ready after") && !log.contains("limits: ") && !log.contains(" id="),
                    log)
            }
        ])

    static let reports = SettingsCase(
        title: "load reports", settings: ["load_reports": "true"],
        checks: [
            "load_reports": { running in
                let report = try Curl.post(BadInputTests.seven, to: running.url + "/v1/classify")
                    .headers["endpoint-load-metrics"]
                return unless(report == "TEXT application_utilization=0.000", "\(report ?? "no report")")
            }
        ])

    static let proxies = SettingsCase(
        title: "trusted proxies", settings: ["trusted_proxies": "127.0.0.1"],
        checks: [
            "trusted_proxies": { running in
                _ = try Curl.run(running.url + "/v1/models", ["-H", "X-Forwarded-For: 203.0.113.7"])
                let isLogged = running.daemon.waitForLog("203.0.113.7 GET /v1/models")
                return unless(isLogged, running.daemon.log)
            }
        ])

    static let tokens = SettingsCase(
        title: "tokens", settings: ["tokens_file": "{}/tokens"],
        prepare: {
            try "all a-token-of-this-case".write(
                to: $0.appendingPathComponent("tokens"), atomically: true, encoding: .utf8)
        },
        checks: [
            "tokens_file": { running in
                let without = try Curl.run(running.url + "/v1/models").status
                let with = try Curl.run(
                    running.url + "/v1/models", ["-H", "Authorization: Bearer a-token-of-this-case"]
                ).status
                return unless(without == 401 && with == 200, "\(without) without a token, \(with) with it")
            }
        ])
}

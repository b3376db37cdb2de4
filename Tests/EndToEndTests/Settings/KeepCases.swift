import Foundation
import TestSupport

extension SettingsCase {
    /// Settings of kept pictures. The folder has a picture that is two days old.
    static let keeping = SettingsCase(
        title: "kept pictures",
        settings: ["keep_dir": "{}/kept", "keep_margin": "0.9", "keep_bytes": "4KiB", "keep_days": "1"],
        also: ["models": SharedData.packageRoot.appendingPathComponent("models").path],
        prepare: { folder in
            let kept = folder.appendingPathComponent("kept")
            try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: true)
            let time = Int(Date().timeIntervalSince1970 - 2 * 86_400) * 1_000
            let record = """
                {"model": "old", "version": "1", "why": ["unknown"], "time": \(time), "bytes": 3, "type": "image/png"}
                """
            for (name, text) in [(".ocelli-kept", ""), (old, "old"), (old + ".json", record)] {
                try Data(text.utf8).write(to: kept.appendingPathComponent(name))
            }
        },
        checks: [
            "keep_dir": { running in
                let answer = try Curl.run(running.url + "/v1/kept")
                return unless(answer.status == 200, answer.text)
            },
            "keep_days": { running in
                let isGone = try eventually(within: 5) { try !ids(running, "?model=old").contains(old) }
                return unless(isGone, "a picture that is two days old is still kept")
            },
            "keep_margin": { running in
                try classify(2, running)
                let isKept = try eventually(within: 5) { try ids(running, "?model=digits").count == 1 }
                return unless(isKept, "the picture is not kept")
            },
            "keep_bytes": { running in
                for number in 0..<4 { try classify(number, running) }
                let isKept = try eventually(within: 10) {
                    try running.metric("ocelli_kept_total{model=\"digits\",why=\"uncertain\"}") >= 4
                }
                let bytes = try running.metric("ocelli_kept_bytes")
                return unless(isKept && (1...4_096).contains(bytes), "\(bytes) bytes")
            },
        ])

    static let keepRate = SettingsCase(
        title: "the rate of kept pictures", settings: ["keep_rate": "2"],
        also: [
            "models": SharedData.packageRoot.appendingPathComponent("models").path, "keep_dir": "{}/kept",
            "keep_margin": "0.9",
        ],
        checks: [
            "keep_rate": { running in
                for number in 0..<4 { try classify(number, running) }
                let isCounted = try eventually(within: 10) {
                    try running.metric("ocelli_kept_dropped_total{reason=\"rate\"}") == 2
                }
                let count = try ids(running).count
                return unless(isCounted && count == 2, "\(count) pictures")
            }
        ])

    /// The digest of `old`, from `sha256sum`.
    private static let old = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"

    private static func classify(_ number: Int, _ running: Running) throws {
        _ = try Curl.run(
            running.url + "/v1/models/digits/classify", ["--data-binary", "@-"], input: KeepingDaemon.picture(number))
    }

    private static func ids(_ running: Running, _ query: String = "") throws -> [String] {
        let kept = try Curl.run(running.url + "/v1/kept" + query).json["kept"] as? [[String: Any]]
        return (kept ?? []).compactMap { $0["id"] as? String }
    }
}

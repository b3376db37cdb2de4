import Foundation
import TestSupport

extension SettingsCase {
    /// Settings of taught models.
    static let teaching = SettingsCase(
        title: "taught models",
        settings: [
            "taught_dir": "{}/taught", "taught_keep_pictures": "true", "taught_keep_versions": "2",
            "taught_max_models": "2", "taught_max_classes": "2", "taught_max_examples": "4",
        ],
        also: ["models": "\(TaughtDaemon.embedder.path)"],
        checks: [
            "taught_dir": { running in
                let answer = try create("parts", running)
                let isThere = FileManager.default.fileExists(atPath: running.folder.path + "/taught/parts")
                return unless(answer.status == 201 && isThere, answer.text)
            },
            "taught_keep_pictures": { running in
                _ = try create("parts", running)
                let answer = try teach("a", 0, running)
                let id = (answer.json["added"] as? [[String: Any]])?.first?["id"] as? String ?? "none"
                let kept = running.folder.path + "/taught/parts/pictures/\(id)"
                let isKept = FileManager.default.contents(atPath: kept) == TaughtPicture.png(kind: 0, number: 0)
                return unless(isKept, answer.text)
            },
            "taught_keep_versions": { running in
                _ = try create("parts", running)
                for number in 0..<3 { _ = try teach("a", number, running) }
                let count = try Curl.run(running.url + "/v1/taught/parts").json["versions"] as? [Any]
                return unless(count?.count == 2, "\(count?.count ?? 0) versions")
            },
            "taught_max_models": { running in
                for name in ["parts", "two"] { _ = try create(name, running) }
                return try refused(create("three", running), "taught_max_models")
            },
            "taught_max_classes": { running in
                _ = try create("parts", running)
                // Known pictures move: the number of examples stays below its own limit.
                for (label, number) in [("a", 0), ("b", 1)] { _ = try teach(label, number, running) }
                return try refused(teach("c", 2, running), "taught_max_classes")
            },
            "taught_max_examples": { running in
                _ = try create("two", running)
                for number in 0..<4 { _ = try teach("a", number, running, to: "two") }
                return try refused(teach("a", 4, running, to: "two"), "taught_max_examples")
            },
        ])

    /// A limit with its own daemon, because nothing else can be taught with it.
    static let taughtBytes = SettingsCase(
        title: "the size of taught models", settings: ["taught_max_bytes": "2KiB"],
        also: ["models": "\(TaughtDaemon.embedder.path)", "taught_dir": "{}/taught"],
        checks: [
            "taught_max_bytes": { running in
                _ = try create("parts", running)
                var answer = try teach("a", 0, running)
                for number in 1..<100 where answer.status == 201 { answer = try teach("a", number, running) }
                return refused(answer, "taught_max_bytes")
            }
        ])

    /// Of the patches of one picture, one is compared: the picture is unusual then.
    static let taughtPatches = SettingsCase(
        title: "the patches of taught models", settings: ["taught_max_patches": "1"],
        also: ["models": "{}/models", "taught_dir": "{}/taught"],
        prepare: { folder in try PatchEmbedder().write(to: folder.appendingPathComponent("models/patcher")) },
        checks: [
            "taught_max_patches": { running in
                let cells = (0..<4).map { row in (0..<4).map { [40 * row + 30, 60 * $0 + 10, 90] } }
                let body = "{\"embedder\": \"patcher\", \"method\": \"normal\"}"
                _ = try Curl.run(running.url + "/v1/taught/parts", ["-X", "PUT", "--data", body])
                let picture = TaughtPicture.png(cells: cells), arguments = ["--data-binary", "@-"]
                _ = try Curl.run(
                    running.url + "/v1/taught/parts/examples?label=normal", arguments, input: picture)
                var answer = try Curl.run(running.url + "/v1/models/parts/classify", arguments, input: picture)
                try eventually {
                    answer = try Curl.run(running.url + "/v1/models/parts/classify", arguments, input: picture)
                    return (answer.json["distance"] as? Double ?? 0) > 0.01
                }
                return unless((answer.json["distance"] as? Double ?? 0) > 0.01, answer.text)
            }
        ])

    private static func create(_ name: String, _ running: Running) throws -> Answer {
        try Curl.run(running.url + "/v1/taught/\(name)", ["-X", "PUT", "--data", "{\"embedder\": \"embedder\"}"])
    }

    private static func teach(_ label: String, _ number: Int, _ running: Running, to name: String = "parts") throws
        -> Answer
    {
        try Curl.run(
            running.url + "/v1/taught/\(name)/examples?label=\(label)", ["--data-binary", "@-"],
            input: TaughtPicture.png(kind: 0, number: number))
    }

    private static func refused(_ answer: Answer, _ setting: String) -> String? {
        unless(answer.status == 507 && answer.error.contains("`\(setting)`"), answer.text)
    }
}

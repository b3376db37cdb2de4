import Foundation
import TestSupport

extension SettingsCase {
    /// Settings of texts.
    static let texts = SettingsCase(
        title: "texts", settings: ["max_text": "8B", "text_cache": "0B"], also: ["models": "{}/models"],
        prepare: { folder in try TextEmbedder.write(to: folder.appendingPathComponent("models/words")) },
        checks: [
            "max_text": { running in
                let short = try embed("dogs dog", running), long = try embed("cats cats", running)
                return unless(
                    short.status == 200 && long.status == 400 && long.error.contains("the limit is 8 (max_text)"),
                    short.text + long.text)
            },
            "text_cache": { running in
                for _ in 0..<2 {
                    let answer = try embed("a cat", running)
                    guard answer.status == 200 else { return answer.text }
                }
                let hits = try running.metric("ocelli_text_cache_hits_total")
                let misses = try running.metric("ocelli_text_cache_misses_total")
                let bytes = try running.metric("ocelli_text_cache_bytes")
                return unless(hits == 0 && misses > 1 && bytes == 0, "\(hits) hits, \(misses) misses, \(bytes) bytes")
            },
        ])

    private static func embed(_ text: String, _ running: Running) throws -> Answer {
        try Curl.run(
            running.url + "/v1/models/words/embed", ["-H", "Content-Type: text/plain", "--data-binary", "@-"],
            input: Data(text.utf8))
    }
}

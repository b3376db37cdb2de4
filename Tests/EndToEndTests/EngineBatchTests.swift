import Foundation
import TestSupport
import Testing

/// A bundle that asks for batches: several pictures of a request go through the engine together, with the same scores.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct EngineBatchTests {
    /// The digits bundle with a `runtime` of its own, in a folder of models.
    private func folder(runtime: String) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-batch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let bundle = folder.appendingPathComponent("digits")
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"), to: bundle)
        let file = bundle.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        let end = try #require(text.lastIndex(of: "}"))
        let comma = text[..<end].last { !$0.isWhitespace } == "," ? "" : ","
        try "\(text[..<end])\(comma) \"runtime\": \(runtime) }".write(to: file, atomically: true, encoding: .utf8)
        return folder
    }

    @Test func aBatchHasTheScoresOfSinglesAndOneBadPictureIsItsOwn() throws {
        let folder = try folder(runtime: "{ \"batch\": 4, \"warmup\": { \"runs\": 2 } }")
        defer { try? FileManager.default.removeItem(at: folder) }
        let daemon = try Daemon(["--models", folder.path, "--cache-dir", ""])
        let single = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
        let seven = "image=@\(BadInputTests.seven.path)"
        let bad = "image=@\(SharedData.packageRoot.appendingPathComponent("models/digits/labels.txt").path)"
        // More than two inferences of four.
        var arguments: [String] = []
        for part in 0..<11 { arguments += ["-F", part == 5 ? bad : seven] }
        let answer = try Curl.run(daemon.url + "/v1/classify", arguments)
        let results = try #require(answer.json["results"] as? [[String: Any]], "\(answer.text)")
        #expect(results.count == 11)
        for (part, result) in results.enumerated() {
            if part == 5 {
                #expect(result["code"] as? String == "unsupported_media_type", "\(result)")
                #expect((result["error"] as? String ?? "").hasPrefix("part 6: "), "\(result)")
                continue
            }
            let best = (result["classifications"] as? [[String: Any]])?.first
            #expect(best?["label"] as? String == "7", "\(result)")
            let confidence = best?["confidence"] as? Double ?? -1
            #expect(abs(confidence - single.topConfidence) < 1e-5, "\(confidence), alone \(single.topConfidence)")
        }
        let json = try Curl.run(daemon.url + "/v1/models/digits").json
        let counts = json["predictions"] as? [String: Any]
        #expect(counts?["succeeded"] as? Int == 11 && counts?["failed"] as? Int == 1, "\(json)")

        let predicted = try Curl.run(daemon.url + "/v1/models/digits/predict", arguments)
        let items = try #require(predicted.json["results"] as? [[String: Any]], "\(predicted.text)")
        #expect(items.count == 11 && items.filter { $0["error"] != nil }.count == 1, "\(predicted.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}

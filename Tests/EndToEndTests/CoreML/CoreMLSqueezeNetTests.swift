import Foundation
import TestSupport
import Testing

/// Networks in the published form of SqueezeNet: weights of 16 to 4 bits, linear and by table, and biases that add the
/// mean where they should subtract it. The expected answers are computed by numpy
/// (Tests/FixtureMakers/coreml_fixtures/product_squeeze.py).
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLSqueezeNetTests {
    private static let names = [
        "squeeze_f16", "squeeze_lut8", "squeeze_lut6", "squeeze_lut4", "squeeze_linear8", "squeeze_symmetric8",
    ]
    private static let picture = CoreMLFixtures.product.appendingPathComponent("squeeze.png")

    private func file(_ name: String) -> URL { CoreMLFixtures.product.appendingPathComponent("\(name).mlmodel") }

    /// By name, then `written` or `subtracted`, then label.
    private func expected() throws -> [String: [String: [String: Double]]] {
        let data = try Data(contentsOf: CoreMLFixtures.product.appendingPathComponent("expected.json"))
        let all = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        return try #require(all["squeeze"] as? [String: [String: [String: Double]]])
    }

    private func compare(_ answer: Answer, with scores: [String: Double]?, _ name: String) throws {
        let scores = try #require(scores)
        #expect(answer.status == 200, "\(name): \(answer.text)")
        #expect(answer.topLabel == scores.max { $0.value < $1.value }?.key, "\(name): \(answer.text)")
        #expect(answer.classifications.count == scores.count)
        for entry in answer.classifications {
            let label = try #require(entry["label"] as? String)
            let wanted = try #require(scores[label])
            let found = try #require(entry["confidence"] as? Double)
            #expect(abs(found - wanted) <= 1e-4, "\(name): \(entry), not \(wanted)")
        }
    }

    @Test("SqueezeNet with weights of 16 to 4 bits answers as numpy computes, and its biases are warned of")
    func weightsOfEveryWidthAnswerAsTheFileSays() throws {
        let folder = try CoreMLFixtures.Folder(Self.names.map(file))
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let wanted = try expected()
        #expect(Set(wanted.keys) == Set(Self.names))
        for name in Self.names {
            let answer = try Curl.post(Self.picture, to: daemon.url + "/v1/models/\(name)/classify?top=5")
            try compare(answer, with: wanted[name]?["written"], name)
            #expect(daemon.log.contains("model \(name) version 1: the biases of input \"image\""), "\(name)")
            let check = try Shell.run(
                "env", ["-u", "OCELLI_ONLY", Daemon.binary.path, "check", file(name).path])
            #expect(check.status == 0 && check.text.contains("(104.0, 117.0, 123.0) are positive"), "\(check.text)")
        }
    }

    /// The example of the documentation, unchanged.
    @Test("the model.json of docs/core-ml.md makes SqueezeNet subtract the mean, with no warning")
    func theDocumentedModelJSONSubtractsTheMean() throws {
        let page = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("docs/core-ml.md"), encoding: .utf8)
        let example = try #require(page.components(separatedBy: "```json\n").dropFirst().first)
        let json = try #require(example.components(separatedBy: "```").first)
        let wanted = try expected()
        for name in ["squeeze_f16", "squeeze_lut8"] {
            let folder = try CoreMLFixtures.Folder()
            try folder.add(file(name), as: "SqueezeNet/SqueezeNet.mlmodel")
            try folder.write(json, to: "SqueezeNet/model.json")
            let scores = try #require(wanted[name]?["subtracted"])
            let labels = ["tench", "goldfish", "great white shark", "tiger shark", "hammerhead"]
            try folder.write(labels.joined(separator: "\n"), to: "SqueezeNet/labels.txt")
            let daemon = try Daemon(["--models", folder.url.path])
            defer { daemon.stop() }
            let answer = try Curl.post(Self.picture, to: daemon.url + "/v1/models/SqueezeNet/classify?top=5")
            try compare(answer, with: scores, name)
            #expect(answer.json["version"] as? String == "2")
            #expect(!daemon.log.contains("look like a mistake") && !daemon.log.contains("looks like a mistake"))
        }
    }
}

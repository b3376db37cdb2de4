import Foundation
import TestSupport
import Testing

/// The shared models and pictures with the real binary: HTTP and the command give the expected labels.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), .serialized)
struct ExpectedLabelsOverHTTPTests {
    @Test("real models and pictures give the expected labels and confidences over HTTP")
    func classify_realModelsAndPictures_givesTheExpectedLabels() throws {
        let data = try #require(SharedData.folder)
        let daemon = try Daemon(["--models", data.appendingPathComponent("models").path])
        let start = daemon.openFiles
        for row in LongTests.every(3, of: ExpectedLabels.rows) {
            let picture = data.appendingPathComponent("images/\(row.picture)")
            let answer = try Curl.post(picture, to: daemon.url + "/v1/models/\(row.model)/classify?top=3")
            #expect(answer.status == 200, "\(row): \(answer.text)")
            #expect(answer.topIndex == row.index, "\(row): \(answer.text)")
            #expect(answer.topLabel == row.label, "\(row): \(answer.text)")
            #expect(abs(answer.topConfidence - row.confidence) <= row.tolerance, "\(row): \(answer.text)")
            #expect(answer.headers["server-timing"]?.contains("infer;dur=") == true)
        }
        #expect(daemon.openFiles <= start + 1)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "real models and pictures give the expected labels by `ocelli classify`",
        arguments: Set(ExpectedLabels.rows.map(\.model)).sorted())
    func throughTheCommand(model: String) throws {
        let data = try #require(SharedData.folder)
        let rows = ExpectedLabels.rows.filter { $0.model == model }
        let result = try Shell.run(
            Daemon.binary.path,
            [
                "classify", "--models", data.appendingPathComponent("models").path, "--model", model, "--top", "1",
                "--json",
            ]
                + rows.map { data.appendingPathComponent("images/\($0.picture)").path },
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.text.split(separator: "\n")
        #expect(lines.count == rows.count)
        for (line, row) in zip(lines, rows) {
            let json = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let best = (json?["classifications"] as? [[String: Any]])?.first
            #expect(best?["label"] as? String == row.label, "\(row): \(line)")
            #expect(abs((best?["confidence"] as? Double ?? -1) - row.confidence) <= row.tolerance, "\(row): \(line)")
        }
    }

    @Test("64 concurrent uploads of one large picture all get the same answer")
    func sixtyFourUploadsOfABigPictureAtOnce() async throws {
        let data = try #require(SharedData.folder)
        let daemon = try Daemon([
            "--models", data.appendingPathComponent("models/mobilenet_v2_1.0_224_quant").path,
        ])
        let picture = data.appendingPathComponent("images/kite_and_cold.jpg")
        let url = daemon.url + "/v1/classify"
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<64 { group.addTask { try Curl.post(picture, to: url) } }
            return try await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        #expect(answers.count == 64)
        #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.first { $0.status != 200 }?.text ?? "")")
        // One picture must always have the same answer.
        #expect(Set(answers.map(\.topLabel)).count == 1)
        #expect(Set(answers.map(\.topConfidence)).count == 1)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}

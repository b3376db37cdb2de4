import Foundation
import TestSupport
import Testing

/// The shared models for texts.
enum WordsData {
    static let folder: URL? = SharedData.folder.map { $0.appendingPathComponent("words") }.flatMap {
        FileManager.default.fileExists(atPath: $0.appendingPathComponent("cases.json").path) ? $0 : nil
    }
}

/// Models that embed texts, and texts and pictures in one space, by the real daemon: the expected values are those of
/// ONNX Runtime and numpy (../shared/data/words/README.md).
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(
        if: WordsData.folder != nil, "../shared/data/words is not beside the package: this test needs its models"),
    .serialized)
struct WordsTests {
    static var models: String { WordsData.folder?.appendingPathComponent("models").path ?? "" }

    struct Cases: Decodable {
        struct Vector: Decodable {
            let model: String
            let text: String?, picture: String?
            let tokens: Int?, truncated: Bool?
            let embedding_of_length_1: [Double]?, embedding: [Double]?
            var vector: [Double] { embedding_of_length_1 ?? embedding ?? [] }
        }
        struct Classified: Decodable {
            let model: String, picture: String, prompt: String
            let labels: [String], similarity: [Double], confidence: [Double]
        }
        let texts: [Vector], pictures: [Vector], sentences: [Vector], classify: [Classified]
    }

    static let cases: Cases? = WordsData.folder.flatMap { folder in
        guard let data = try? Data(contentsOf: folder.appendingPathComponent("cases.json")) else { return nil }
        return try? JSONDecoder().decode(Cases.self, from: data)
    }

    static func picture(_ name: String) -> String {
        WordsData.folder?.appendingPathComponent("pictures/\(name)").path ?? ""
    }

    static func distance(_ found: Any?, _ expected: [Double]) -> Double {
        guard let numbers = found as? [Double], numbers.count == expected.count else { return .infinity }
        return zip(numbers, expected).map { abs($0 - $1) }.max() ?? .infinity
    }

    @Test("every text and every picture of the cases is embedded as by ONNX Runtime")
    func embeddings() throws {
        let cases = try #require(Self.cases)
        let daemon = try Daemon(["--models", Self.models])
        for one in cases.texts + cases.sentences {
            let answer = try Curl.run(
                "\(daemon.url)/v1/models/\(one.model)/embed",
                ["-H", "Content-Type: text/plain; charset=utf-8", "--data-binary", "@-"],
                input: Data((one.text ?? "").utf8))
            let what = Comment(rawValue: "\(one.model) \(one.text ?? ""): \(answer.text.prefix(300))")
            #expect(answer.status == 200, what)
            #expect(Self.distance(answer.json["embedding"], one.vector) < 1e-4, what)
            #expect(answer.json["dimension"] as? Int == one.vector.count, what)
            #expect(answer.json["tokens"] as? Int == one.tokens, what)
            #expect(answer.json["truncated"] as? Bool == one.truncated, what)
        }
        for one in cases.pictures {
            let answer = try Curl.run(
                "\(daemon.url)/v1/models/\(one.model)/embed", ["--data-binary", "@" + Self.picture(one.picture ?? "")])
            let what = Comment(rawValue: "\(one.model) \(one.picture ?? ""): \(answer.text.prefix(300))")
            #expect(Self.distance(answer.json["embedding"], one.vector) < 1e-4, what)
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("texts of a list have the vectors that each has by itself, as JSON and as floats")
    func lists() throws {
        let cases = try #require(Self.cases)
        let daemon = try Daemon(["--models", Self.models])
        for model in Set((cases.texts + cases.sentences).map(\.model)).sorted() {
            let own = (cases.texts + cases.sentences).filter { $0.model == model }
            let body = try JSONSerialization.data(withJSONObject: ["texts": own.map { $0.text ?? "" }])
            let url = "\(daemon.url)/v1/models/\(model)/embed", json = ["-H", "Content-Type: application/json"]
            let answer = try Curl.run(url, json + ["--data-binary", "@-"], input: body)
            let results = answer.json["results"] as? [[String: Any]] ?? []
            #expect(results.count == own.count, "\(answer.text.prefix(300))")
            for (result, one) in zip(results, own) {
                #expect(Self.distance(result["embedding"], one.vector) < 1e-4, "\(model) \(one.text ?? "")")
                #expect(result["tokens"] as? Int == one.tokens)
            }
            let floats = try Curl.run(
                url, json + ["-H", "Accept: application/octet-stream", "--data-binary", "@-"], input: body)
            #expect(floats.body.count == own.reduce(0) { $0 + 4 * $1.vector.count })
            let numbers = floats.body.withUnsafeBytes { bytes in
                (0..<bytes.count / 4).map { Double(bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self)) }
            }
            #expect(Self.distance(numbers, own.flatMap(\.vector)) < 1e-4)
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("pictures are classified by the labels and the prompt of a form as by ONNX Runtime")
    func classify() throws {
        let cases = try #require(Self.cases)
        let daemon = try Daemon(["--models", Self.models])
        for one in cases.classify {
            var form = ["-F", "image=@" + Self.picture(one.picture), "-F", "top=\(one.labels.count)"]
            for label in one.labels { form += ["--form-string", "label=" + label] }
            if one.prompt != "{}" { form += ["--form-string", "prompt=" + one.prompt] }
            let answer = try Curl.run("\(daemon.url)/v1/models/\(one.model)/classify", form)
            let what = Comment(rawValue: "\(one.model) \(one.labels) \(one.prompt): \(answer.text.prefix(400))")
            let found = answer.json["classifications"] as? [[String: Any]] ?? []
            #expect(found.count == one.labels.count, what)
            for entry in found {
                guard let index = entry["index"] as? Int, one.labels.indices.contains(index) else {
                    Issue.record("no index in \(entry)")
                    continue
                }
                #expect(entry["label"] as? String == one.labels[index], what)
                #expect(abs((entry["similarity"] as? Double ?? .nan) - one.similarity[index]) < 1e-4, what)
                #expect(abs((entry["confidence"] as? Double ?? .nan) - one.confidence[index]) < 1e-3, what)
            }
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}

import Foundation
import InferenceService
import Settings
import TestSupport
import Testing

/// `/v1/embeddings`, answered by real models without a socket. The expected vectors are those of ONNX Runtime and
/// NumPy.
@Suite(.timeLimit(.minutes(3))) struct OpenAITests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    private static let observations = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations")
    private static let words: URL? = SharedData.folder.map { $0.appendingPathComponent("words") }.flatMap {
        FileManager.default.fileExists(atPath: $0.appendingPathComponent("cases.json").path) ? $0 : nil
    }
    static let hasWords = words != nil

    private static func world(
        _ models: [URL] = [observations.appendingPathComponent("embedder")],
        _ change: (inout Settings) -> Void = { _ in }
    ) async throws -> World {
        try await World(
            { settings in
                settings.dialects = [.openAI]
                change(&settings)
            },
            models: { folder in
                for model in models {
                    try FileManager.default.copyItem(
                        at: model, to: folder.appendingPathComponent(model.lastPathComponent))
                }
            })
    }

    private static func ask(_ world: World, _ body: String) async throws -> Reply {
        try await world.answer("POST /v1/embeddings", Array(body.utf8), fields: "\nContent-Type: application/json")
    }

    private static func ask(_ world: World, _ body: [String: Any]) async throws -> Reply {
        try await ask(world, String(decoding: JSONSerialization.data(withJSONObject: body), as: UTF8.self))
    }

    private static func picture(_ file: URL, type: String = "image/png") throws -> [String: String] {
        ["image": "data:\(type);base64,\(try Data(contentsOf: file).base64EncodedString())"]
    }

    /// The vectors of an answer, by their places.
    private static func vectors(_ reply: Reply) throws -> [[Double]] {
        #expect(reply.status == 200 && reply.json["object"] as? String == "list", "\(reply.text.prefix(400))")
        let data = try #require(reply.json["data"] as? [[String: Any]])
        #expect(data.map { $0["index"] as? Int } == Array(data.indices))
        #expect(data.allSatisfy { $0["object"] as? String == "embedding" })
        return try data.map { one in
            if let numbers = one["embedding"] as? [Double] { return numbers }
            let text = try #require(one["embedding"] as? String)
            let bytes = [UInt8](try #require(Data(base64Encoded: text)))
            return stride(from: 0, to: bytes.count - 3, by: 4).map { start in
                // Little-endian, whatever this machine is.
                Double(
                    Float(bitPattern: bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }))
            }
        }
    }

    private static func distance(_ found: [Double], _ expected: [Double]) -> Double {
        guard found.count == expected.count else { return .infinity }
        return zip(found, expected).map { abs($0 - $1) }.max() ?? .infinity
    }

    private static func tokens(_ reply: Reply) -> [Int] {
        let usage = reply.json["usage"] as? [String: Int]
        return [usage?["prompt_tokens"] ?? -1, usage?["total_tokens"] ?? -1]
    }

    // MARK: Pictures

    private struct Embedded: Decodable {
        struct Case: Decodable {
            let picture: String, vector: [Double]
        }
        let embeddings: [Case]
    }

    private static func embedded() throws -> [(picture: URL, vector: [Double])] {
        let file = try Data(contentsOf: observations.appendingPathComponent("expected.json"))
        return try JSONDecoder().decode(Embedded.self, from: file).embeddings.map { one in
            let length = one.vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
            return (observations.appendingPathComponent(one.picture), one.vector.map { $0 / length })
        }
    }

    @Test(
        "pictures as data: URLs have the expected vectors, as numbers and as base64",
        arguments: ["float", "base64", nil])
    func pictures(_ encoding: String?) async throws {
        let world = try await Self.world()
        let cases = Array(try Self.embedded().prefix(3))
        var body: [String: Any] = [
            "model": "embedder", "user": "u", "input": try cases.map { try Self.picture($0.picture) },
        ]
        if let encoding { body["encoding_format"] = encoding }
        let reply = try await Self.ask(world, body)
        let found = try Self.vectors(reply)
        #expect(found.count == cases.count)
        for (one, vector) in zip(cases, found) { #expect(Self.distance(vector, one.vector) < 1e-4) }
        let first = (reply.json["data"] as? [[String: Any]])?.first?["embedding"]
        #expect((first is String) == (encoding == "base64"))
        #expect(
            reply.json["model"] as? String == "embedder" && Self.tokens(reply) == [0, 0], "\(reply.text.prefix(300))")
        #expect(reply["Model-Version"] == "1")
    }

    @Test("the error of a picture names its place, and fails the request")
    func aWrongPicture() async throws {
        let world = try await Self.world()
        let good = try Self.picture(try #require(try Self.embedded().first).picture)
        let bad = ["image": "data:image/png;base64,\(Data("no picture".utf8).base64EncodedString())"]
        let reply = try await Self.ask(world, ["model": "embedder", "input": [good, bad, good]])
        #expect(reply.status == 415 && reply.json["code"] as? String == "unsupported_media_type", "\(reply.text)")
        #expect(reply.error.hasPrefix("input[1]: "), "\(reply.error)")
    }

    @Test("a model is asked for what it embeds alone")
    func otherModels() async throws {
        let world = try await Self.world()
        let picture = try Self.picture(try #require(try Self.embedded().first).picture)
        let text = try await Self.ask(world, ["model": "embedder", "input": [picture, "a cat"]])
        #expect(text.status == 400 && text.error.contains("input[1]: ") && text.error.contains("texts"), "\(text.text)")
        let classifier = try await Self.ask(world, ["model": "digits", "input": [picture]])
        #expect(
            classifier.status == 400 && classifier.error.hasPrefix("input[0]: ")
                && classifier.error.contains("\"digits\""),
            "\(classifier.text)")
        let nothing = try await Self.ask(world, ["model": "nothing", "input": "a cat"])
        #expect(nothing.status == 404 && nothing.json["code"] as? String == "model_not_found", "\(nothing.text)")
    }

    // MARK: Wrong bodies

    @Test(
        "a body that does not fit is 400 and says what was expected",
        arguments: [
            (#"{"input": "a"}"#, "\"model\" is missing"),
            (#"{"model": "", "input": "a"}"#, "\"model\": expected the name"),
            (#"{"model": 7, "input": "a"}"#, "\"model\": expected a string"),
            (#"{"model": "embedder"}"#, "expected 1 to 4 texts or pictures, found none"),
            (#"{"model": "embedder", "input": []}"#, "expected 1 to 4 texts or pictures, found none"),
            (
                #"{"model": "embedder", "input": ["a", "b", "c", "d", "e"]}"#,
                "more than 4 elements, the limit (max_batch)"
            ),
            (#"{"model": "embedder", "input": [1, 2, 3]}"#, "input[0]: token ids are not supported"),
            (#"{"model": "embedder", "input": ["a", [1, 2, 3]]}"#, "input[1]: token ids are not supported"),
            (#"{"model": "embedder", "input": 5}"#, "input: token ids are not supported"),
            (#"{"model": "embedder", "input": [null]}"#, "input[0]: expected a text"),
            (#"{"model": "embedder", "input": [{}]}"#, "input[0]: expected {\"image\""),
            (#"{"model": "embedder", "input": [{"text": "a"}]}"#, "the member \"text\""),
            (#"{"model": "embedder", "input": [{"image": 7}]}"#, "input[0]: \"image\": expected a string"),
            (
                #"{"model": "embedder", "input": [{"image": "https://example.com/cat.jpg"}]}"#,
                "found the address \"https://example.com/cat.jpg\"; Ocelli fetches nothing"
            ),
            (#"{"model": "embedder", "input": [{"image": "https:\/\/example.com\/cat.jpg"}]}"#, "fetches nothing"),
            (#"{"model": "embedder", "input": [{"image": "file:///etc/passwd"}]}"#, "fetches nothing"),
            (#"{"model": "embedder", "input": [{"image": "aGVsbG8="}]}"#, "expected a data: URL"),
            (#"{"model": "embedder", "input": [{"image": "data:image/png;base64,!!"}]}"#, "not base64"),
            (
                #"{"model": "embedder", "input": [{"image": "data:image/png,abc"}]}"#,
                "expected a data: URL with ;base64"
            ),
            (
                #"{"model": "embedder", "input": "a", "encoding_format": "hex"}"#,
                "expected \"float\" or \"base64\", found \"hex\""
            ),
            (#"{"model": "embedder", "input": "a", "dimensions": 8}"#, "\"dimensions\" is not supported"),
            (#"{"model": "embedder", "input": "a", "inputs": 1}"#, "unknown member \"inputs\""),
            (#"{"model": "embedder", "input": "a", "truncate": true}"#, "unknown member \"truncate\""),
            (#"["a"]"#, "the body: expected an object"),
        ] as [(String, String)])
    func aWrongBody(_ body: String, _ words: String) async throws {
        let reply = try await Self.ask(try await Self.world(), body)
        #expect(reply.status == 400 && reply.json["code"] as? String == "invalid_input", "\(reply.text)")
        #expect(reply.error.contains(words), "\(reply.error)")
    }

    @Test("a body that is not JSON, or compressed, is refused", arguments: ["", "{", "{\"model\": \"m\"} x"])
    func notJSON(_ body: String) async throws {
        let world = try await Self.world()
        let reply = try await Self.ask(world, body)
        #expect(reply.status == 400 && reply.json["code"] as? String == "bad_request", "\(reply.text)")
        let packed = try await world.answer("POST /v1/embeddings", [], fields: "\nContent-Encoding: gzip")
        #expect(packed.status == 415, "\(packed.text)")
    }

    // MARK: Texts

    private struct Cases: Decodable {
        struct Vector: Decodable {
            let model: String
            let text: String?, picture: String?, tokens: Int?
            let embedding_of_length_1: [Double]?, embedding: [Double]?
            var vector: [Double] { embedding_of_length_1 ?? embedding ?? [] }
        }
        let texts: [Vector], pictures: [Vector], sentences: [Vector]
    }

    @Test(
        "texts and pictures in one request have the expected vectors in their order, and tokens are counted",
        .enabled(if: hasWords, "../shared/data/words is not beside the package: this test needs its models"),
        arguments: ["float", "base64"])
    func mixed(_ encoding: String) async throws {
        let folder = try #require(Self.words)
        let cases = try JSONDecoder().decode(
            Cases.self, from: Data(contentsOf: folder.appendingPathComponent("cases.json")))
        let world = try await Self.world(
            ["clip-split", "sentence-mean"].map { folder.appendingPathComponent("models/\($0)") })
        let texts = cases.texts.filter { $0.model == "clip-split" },
            pictures = cases.pictures.filter { $0.model == "clip-split" }
        let own = [texts[0], pictures[0], texts[2], pictures[1]]
        let input: [Any] = try own.map { one in
            if let text = one.text { return text }
            return try Self.picture(folder.appendingPathComponent("pictures/\(one.picture ?? "")"))
        }
        let reply = try await Self.ask(world, ["model": "clip-split", "input": input, "encoding_format": encoding])
        for (one, vector) in zip(own, try Self.vectors(reply)) {
            #expect(Self.distance(vector, one.vector) < 1e-4, "\(one.text ?? one.picture ?? "")")
        }
        let count = own.reduce(0) { $0 + ($1.tokens ?? 0) }
        #expect(count > 0 && Self.tokens(reply) == [count, count], "\(reply.text.suffix(200))")
        for one in cases.sentences where one.model == "sentence-mean" {
            let reply = try await Self.ask(
                world, ["model": "sentence-mean", "input": one.text ?? "", "encoding_format": encoding])
            let vectors = try Self.vectors(reply)
            #expect(vectors.count == 1 && Self.distance(vectors.first ?? [], one.vector) < 1e-4, "\(one.text ?? "")")
            #expect(Self.tokens(reply) == [one.tokens, one.tokens])
        }
        let picture = try await Self.ask(world, ["model": "sentence-mean", "input": ["a", input[1]]])
        #expect(picture.status == 400 && picture.error.hasPrefix("input[1]: "), "\(picture.text)")
    }

    @Test(
        "a text longer than max_text is 400 and named",
        .enabled(if: hasWords, "../shared/data/words is not beside the package: this test needs its models"))
    func longTexts() async throws {
        let folder = try #require(Self.words)
        let world = try await Self.world([folder.appendingPathComponent("models/sentence-mean")]) { $0.maxText = 8 }
        let fits = try await Self.ask(world, ["model": "sentence-mean", "input": "12345678"])
        #expect(fits.status == 200, "\(fits.text)")
        let long = try await Self.ask(world, ["model": "sentence-mean", "input": ["a", "12345678é"]])
        #expect(long.status == 400 && long.error.contains("input[1] has 10 bytes") && long.error.contains("max_text"))
    }
}

import Foundation
import TestSupport
import Testing

/// Bad input is normal input: each request gets an error with its mistake, and the daemon continues.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct BadInputTests {
    static let photo = SharedData.packageRoot.appendingPathComponent("examples/nine-photo.jpg")
    static let seven = SharedData.packageRoot.appendingPathComponent("examples/seven.png")

    /// A limit above the default must be in effect too.
    @Test("with max_batch 70, a form of 70 pictures is answered and a form of 71 is refused with 400")
    func moreThanTheUsualBatch() throws {
        let daemon = try Daemon(["--max-batch", "70"])
        func post(_ count: Int) throws -> Answer {
            let part = "--X\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\nno picture\r\n"
            let body = Data((String(repeating: part, count: count) + "--X--\r\n").utf8)
            return try Curl.run(
                daemon.url + "/v1/classify",
                ["-H", "Content-Type: multipart/form-data; boundary=X", "--data-binary", "@-"], input: body)
        }
        let whole = try post(70)
        #expect(whole.status == 200, "\(whole.text)")
        #expect((whole.json["results"] as? [Any])?.count == 70)
        let more = try post(71)
        #expect(more.status == 400 && more.code == "bad_request" && more.error.contains("70"), "\(more.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Checks the error's form, and that the daemon still classifies.
    private func expect(
        _ answer: Answer, _ status: Int, _ code: String, mentions words: [String], from daemon: Daemon,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(answer.code == code, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(answer.headers["content-type"] == "application/json", sourceLocation: sourceLocation)
        #expect(answer.json["request_id"] as? String == answer.headers["x-request-id"], sourceLocation: sourceLocation)
        for word in words {
            #expect(answer.error.contains(word), "\(word): \(answer.error)", sourceLocation: sourceLocation)
        }
        let good = try Curl.post(Self.seven, to: daemon.url + "/v1/classify")
        #expect(good.status == 200 && good.topLabel == "7", sourceLocation: sourceLocation)
    }

    @Test("each kind of bad request gets an error with the mistake, and the daemon still classifies")
    func badInput_ofEveryKind_isRefusedAndTheDaemonServes() throws {
        let daemon = try Daemon()
        let classify = daemon.url + "/v1/classify"
        let picture = try Data(contentsOf: Self.seven)
        func post(_ body: Data, _ query: String = "", _ arguments: [String] = []) throws -> Answer {
            try Curl.run(classify + query, ["--data-binary", "@-"] + arguments, input: body)
        }
        let d = daemon
        try expect(post(Data("hello, world".utf8)), 415, "unsupported_media_type", mentions: ["JPEG", "PNG"], from: d)
        try expect(post(Data("<!DOCTYPE html><html>".utf8)), 415, "unsupported_media_type", mentions: ["HTML"], from: d)
        try expect(
            Curl.run(classify, ["-d", "@\(Self.seven.path)"]), 415, "unsupported_media_type",
            mentions: ["--data-binary"], from: d)
        try expect(
            Curl.run(classify, ["-d", "@\(Self.photo.path)"]), 400, "invalid_image", mentions: ["--data-binary"],
            from: d)
        try expect(
            Curl.run(daemon.url + "/v1/models/digits/predict", ["-d", "@\(Self.photo.path)"]), 400, "invalid_image",
            mentions: ["--data-binary"], from: d)
        for arguments in [["--data-binary", "seven.png"], ["-F", "image=examples/Seven.PNG"]] {
            let name = try Curl.run(classify, arguments)
            try expect(name, 415, "unsupported_media_type", mentions: ["a file name", "@ before"], from: d)
            #expect(!name.error.contains("--data-binary"), "that is what was used: \(name.error)")
        }
        let json = try Curl.run(classify, ["--json", "{\"image\": \"iVBORw0KGgo=\"}"])
        try expect(
            json, 415, "unsupported_media_type",
            mentions: ["/v1/models/digits/predict: {\"inputs\": {\"image\": {\"b64\": \"...\"}}}"], from: d)
        let fields = try Curl.run(classify, ["--data-urlencode", "image=iVBORw0KGgo"])
        try expect(
            fields, 415, "unsupported_media_type", mentions: ["Form fields are not accepted", "multipart/form-data"],
            from: d)
        #expect(!fields.error.contains("--data-binary"), "\(fields.error)")
        let text = Data(String(decoding: picture, as: UTF8.self).utf8)
        try expect(post(text), 415, "unsupported_media_type", mentions: ["converted to text"], from: d)
        try expect(
            post(Data("b'\\x89PNG\\r\\n'".utf8)), 415, "unsupported_media_type", mentions: ["a Python bytes literal"],
            from: d)
        // TensorFlow Serving's form.
        let serving = try Curl.run(daemon.url + "/v1/models/digits:predict", ["--json", "{}"])
        try expect(serving, 400, "invalid_input", mentions: ["\"instances\"", "\"inputs\""], from: d)
        let license = try Curl.post(SharedData.packageRoot.appendingPathComponent("LICENSE"), to: classify)
        try expect(license, 415, "unsupported_media_type", mentions: ["text"], from: d)
        #expect(!license.error.contains("--data-binary"), "it was sent so: \(license.error)")
        try expect(post(Data()), 400, "invalid_image", mentions: ["empty"], from: d)
        try expect(post(picture.prefix(picture.count / 2)), 400, "invalid_image", mentions: [], from: d)
        try expect(post(picture, "?top=0"), 400, "bad_request", mentions: ["top", "0"], from: d)
        try expect(post(picture, "?top=11"), 400, "bad_request", mentions: ["top", "10", "11"], from: d)
        try expect(post(picture, "?threshold=2"), 400, "bad_request", mentions: ["threshold", "2"], from: d)
        try expect(post(picture, "?crop=middle"), 400, "bad_request", mentions: ["crop", "center", "middle"], from: d)
        try expect(post(picture, "?tops=3"), 400, "bad_request", mentions: ["tops", "top"], from: d)
        try expect(post(picture, "?timeout_ms=0"), 400, "bad_request", mentions: ["timeout_ms"], from: d)
        try expect(
            Curl.run(daemon.url + "/v1/models/unknown/classify", ["--data-binary", "@\(Self.seven.path)"]),
            404, "model_not_found", mentions: ["unknown", "digits"], from: d)
        try expect(
            Curl.run(daemon.url + "/v1/models/digits/versions/7/classify", ["--data-binary", "@\(Self.seven.path)"]),
            404, "version_not_found", mentions: ["7", "1"], from: d)
        try expect(Curl.run(daemon.url + "/nothing"), 404, "not_found", mentions: ["/nothing"], from: d)
        let get = try Curl.run(classify)
        try expect(get, 405, "method_not_allowed", mentions: ["GET", "POST"], from: d)
        #expect(get.headers["allow"] == "POST")
        try expect(
            Curl.run(classify, ["-F", "image=@\(Self.seven.path)", "-F", "picture=@\(Self.seven.path)"]), 400,
            "bad_request",
            mentions: ["picture", "image"], from: d)
        try expect(
            Curl.run(classify, ["-H", "Content-Type: multipart/form-data", "--data-binary", "x"]), 400, "bad_request",
            mentions: ["boundary"], from: d)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a body of 40 MB is refused with 413, with and without Expect and in chunks, and by its head without a body")
    func aBodyOverTheLimitIsRefusedBeforeItIsSent() throws {
        let daemon = try Daemon()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-40MB-\(getpid()).bin")
        try Data(count: 40 << 20).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        for arguments in [[], ["-H", "Expect:"], ["-H", "Transfer-Encoding: chunked"]] {
            let answer = try Curl.post(file, to: daemon.url + "/v1/classify", arguments)
            try expect(answer, 413, "body_too_large", mentions: ["20", "(max_body)"], from: daemon)
        }
        // No byte of the body is sent.
        for field in ["", "Expect: 100-continue\r\n"] {
            let client = try RawClient(daemon.url)
            try client.send(
                "POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: \(40 << 20)\r\n\(field)\r\n")
            let refused = try client.response()
            #expect(refused.status == 413 && refused.text.contains("body_too_large"), "\(field)\(refused.text)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a form with three pictures and a text file gets three answers and one error that names its part")
    func aBatchAnswersForEachPart() throws {
        let daemon = try Daemon()
        let examples = DigitsTests.pictures.prefix(3)
        var arguments = examples.flatMap { ["-F", "image=@\($0.file.path)"] }
        arguments += ["-F", "image=@\(SharedData.packageRoot.path)/LICENSE"]
        let answer = try Curl.run(daemon.url + "/v1/classify?top=1", arguments)
        #expect(answer.status == 200, "\(answer.text)")
        let results = answer.json["results"] as? [[String: Any]] ?? []
        #expect(results.count == 4)
        for (result, picture) in zip(results, examples) {
            let best = (result["classifications"] as? [[String: Any]])?.first
            #expect(best?["label"] as? String == String(picture.digit))
        }
        #expect(results.last?["code"] as? String == "unsupported_media_type")
        #expect((results.last?["error"] as? String)?.contains("part 4") == true)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}

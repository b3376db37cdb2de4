import Foundation
import TestSupport
import Testing

/// Forms as sent by browsers and `curl -F`: pictures, parameters, and other fields of a page.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct FormTests {
    private static let picture = BadInputTests.seven.path

    private func form(_ daemon: Daemon, _ fields: [String], _ path: String = "/v1/classify") throws -> Answer {
        try Curl.run(daemon.url + path, fields.flatMap { ["-F", $0] })
    }

    @Test("form fields named like parameters are parameters; the query wins, other fields are ignored")
    func textPartsNamedLikeParametersAreParameters() throws {
        let daemon = try Daemon()
        let image = "image=@\(Self.picture)"
        #expect(try form(daemon, [image, "top=3"]).classifications.count == 3)
        #expect(try form(daemon, ["top=2", image]).classifications.count == 2)
        // The query wins.
        #expect(try form(daemon, [image, "top=3"], "/v1/classify?top=1").classifications.count == 1)
        #expect(try form(daemon, [image, "threshold=0.99", "top=10"]).classifications.count <= 1)
        #expect(try form(daemon, [image, "crop=fit", "orientation=ignore"]).topLabel == "7")
        for (field, words) in [("top=0", "form field \"top\""), ("threshold=x", "form field \"threshold\"")] {
            let answer = try form(daemon, [image, field])
            #expect(answer.status == 400 && answer.error.contains(words), "\(answer.text)")
        }
        // Other fields of a page are ignored.
        #expect(try form(daemon, [image, "token=abc", "comment=a picture", "submit=Send"]).topLabel == "7")
        // Predict takes the same form.
        let answer = try form(daemon, [image, "top=3"], "/v1/models/digits/predict")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(daemon.stop() == 0)
    }

    @Test("a form of more than 1,164 parts is refused with 413 that names max_batch")
    func partsAreLimitedWhateverTheyAre() throws {
        let daemon = try Daemon()
        let picture = try Data(contentsOf: BadInputTests.seven)
        func answer(others: Int) throws -> Answer {
            let field = "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n"
            var body = Data(String(repeating: field, count: others).utf8)
            body += Data("--x\r\nContent-Disposition: form-data; name=image\r\n\r\n".utf8) + picture
            body += Data("\r\n--x--\r\n".utf8)
            return try Curl.run(
                daemon.url + "/v1/classify",
                ["-H", "Content-Type: multipart/form-data; boundary=x", "--data-binary", "@-"], input: body)
        }
        #expect(try answer(others: 1000).topLabel == "7")
        for others in [1164, 300_000] {
            let refused = try answer(others: others)
            #expect(refused.status == 413 && refused.error.contains("1164"), "\(refused.text)")
            #expect(refused.error.contains("(max_batch)") && !refused.error.contains("max_body"), "\(refused.text)")
        }
        #expect(daemon.stop() == 0)
    }

    @Test("a picture in a form is named image or file, or is the only file; other forms get 400")
    func aPictureIsNamedImageOrFileOrIsTheOnlyFile() throws {
        let daemon = try Daemon()
        for name in ["image", "file", "upload"] {
            #expect(try form(daemon, ["\(name)=@\(Self.picture)"]).topLabel == "7", "\(name)")
        }
        let both = try form(daemon, ["image=@\(Self.picture)", "file=@\(Self.picture)"])
        #expect((both.json["results"] as? [Any])?.count == 2, "\(both.text)")
        // Text in a part with the name of a picture is an unreadable picture, not a parameter.
        #expect(try form(daemon, ["image=hello"]).status == 415)
        for (fields, words) in [
            (["a=@\(Self.picture)", "b=@\(Self.picture)"], "part 1 is a file named \"a\""),
            (["image=@\(Self.picture)", "imgae=@\(Self.picture)"], "part 2 is a file named \"imgae\""),
            (["image=@\(Self.picture),\(Self.picture)"], "part 1 holds several files"), (["top=3"], "no picture"),
        ] {
            let answer = try form(daemon, fields)
            #expect(answer.status == 400 && answer.code == "bad_request", "\(answer.text)")
            #expect(answer.error.contains(words), "\(answer.error)")
        }
        // The form that urllib3 1.x sends for a name beyond ASCII.
        let form = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-form-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: form) }
        var body = Data("--x\r\nContent-Disposition: form-data; name=upload; filename*=utf-8''%C3%A9.png\r\n\r\n".utf8)
        body += try Data(contentsOf: BadInputTests.seven)
        try (body + Data("\r\n--x--\r\n".utf8)).write(to: form)
        let extended = try Curl.run(
            daemon.url + "/v1/classify",
            ["--data-binary", "@\(form.path)", "-H", "Content-Type: multipart/form-data; boundary=x"])
        #expect(extended.topLabel == "7", "\(extended.text)")
        // An empty content coding means none, and every field of the name counts.
        let image = "image=@\(Self.picture)"
        for (codings, status) in [
            ([""], 200), (["identity"], 200), (["", "Identity"], 200), (["identity", "gzip"], 415),
            (["identity, br"], 415),
        ] {
            let fields = codings.flatMap { ["-H", $0.isEmpty ? "Content-Encoding;" : "Content-Encoding: \($0)"] }
            #expect(try Curl.run(daemon.url + "/v1/classify", ["-F", image] + fields).status == status, "\(codings)")
        }
        #expect(daemon.stop() == 0)
    }
}

import Foundation
import TestSupport
import Testing

/// The requests of Agent DVR and double-take as their libraries write them, byte for byte.
///
/// Agent DVR is a program of .NET: its `FaceRecognizer.RegisterFace` sends with `HttpClient` (the trace in
/// github.com/doitandbedone/ispyagentdvr-docker, issue 345), to the routes of DeepStack and CodeProject.AI that
/// www.ispyconnect.com/userguide-agent-deepstack-ai.aspx names; it asks for the list of models without a body. The
/// parts are those of DeepStack's examples for .NET, the bytes those of `MultipartFormDataContent` (dotnet/runtime on
/// GitHub): a boundary in quotes, names without, files named twice, texts with a type.
///
/// double-take sends with axios and form-data (api/src/util/detectors/deepstack.js of jakowenko/double-take on GitHub):
/// a boundary that begins with 26 dashes, and chunks, because axios before 1.0 does not know the length of files.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CameraFormsTests {
    private static let face = """
        {"model": "spots", "threshold": 0.8, "classes": ["even"], "each": [
          {"as": "who", "model": "persons", "task": "classify"}]}
        """

    /// A part of a form: a text, or a file.
    private struct Part {
        let name: String
        let content: Data
        /// The fields of .NET for a file of this name; nil for text.
        var file: String?

        static func text(_ name: String, _ value: String) -> Part { Part(name: name, content: Data(value.utf8)) }
    }

    private static func picture(_ color: PipelineDaemon.Color) throws -> Data {
        try PipelineDaemon.png([color], width: 240, height: 160)
    }

    /// A request as `HttpClient` sends it.
    private static func dotNet(_ path: String, _ parts: [Part]?) -> Data {
        let boundary = "7a9b5a1e-3c0d-4a44-9d1f-0b1f8f3a6c55"
        var body = Data()
        for (index, part) in (parts ?? []).enumerated() {
            body += Data((index == 0 ? "" : "\r\n").utf8) + Data("--\(boundary)\r\n".utf8)
            if part.file == nil { body += Data("Content-Type: text/plain; charset=utf-8\r\n".utf8) }
            let file = part.file.map { "; \($0)" } ?? ""
            body += Data("Content-Disposition: form-data; name=\(part.name)\(file)\r\n\r\n".utf8) + part.content
        }
        var head = "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:5000\r\n"
        if parts != nil {
            body += Data("\r\n--\(boundary)--\r\n".utf8)
            head += "Content-Type: multipart/form-data; boundary=\"\(boundary)\"\r\n"
        }
        return Data((head + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
    }

    /// A request as axios sends it, in chunks.
    private static func axios(_ path: String, _ parts: [Part]) -> Data {
        let boundary = "--------------------------515890814546601021194782"
        var chunks: [Data] = []
        for part in parts {
            let file = part.file.map { "; filename=\"\($0)\"\r\nContent-Type: image/png" } ?? ""
            chunks.append(
                Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"\(part.name)\"\(file)\r\n\r\n".utf8))
            // A file is read in blocks of 64 KiB.
            for start in stride(from: 0, to: part.content.count, by: 65_536) {
                chunks.append(Data(part.content.dropFirst(start).prefix(65_536)))
            }
            chunks.append(Data("\r\n".utf8))
        }
        chunks.append(Data("--\(boundary)--\r\n".utf8))
        var request = Data(
            """
            POST \(path) HTTP/1.1\r
            Accept: application/json, text/plain, */*\r
            content-type: multipart/form-data; boundary=\(boundary)\r
            User-Agent: axios/0.27.2\r
            Host: 127.0.0.1:5000\r
            Connection: close\r
            Transfer-Encoding: chunked\r
            \r\n
            """.utf8)
        for chunk in chunks {
            request += Data("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Data("\r\n".utf8)
        }
        return request + Data("0\r\n\r\n".utf8)
    }

    /// The answer to a request that succeeds.
    private func answer(_ server: PipelineDaemon, _ request: Data) throws -> [String: Any] {
        let client = try RawClient(server.url)
        try client.send(request)
        let response = try client.response()
        let json = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any] ?? [:]
        #expect(response.status == 200 && json["success"] as? Bool == true, "\(response.text)")
        return json
    }

    private func names(_ answer: [String: Any]) throws -> [String] {
        try #require(answer["predictions"] as? [[String: Any]]).compactMap { $0["userid"] as? String }
    }

    @Test("Agent DVR detects, lists models, and registers and recognizes faces")
    func agentDVR() throws {
        let server = try PipelineDaemon(["face": Self.face], ["--dialects", "deepstack"])
        try server.create("persons")
        let blue = try Self.picture((20, 60, 210)), red = try Self.picture((230, 20, 20))
        let frame = "filename=frame.png; filename*=utf-8''frame.png"
        let found = try answer(
            server,
            Self.dotNet(
                "/v1/vision/detection",
                [Part(name: "image", content: blue, file: frame), .text("min_confidence", "0.5")]
            ))
        let boxes = try server.post(blue, "/v1/models/spots/detect?threshold=0.5").detections
        #expect((found["predictions"] as? [Any])?.count == boxes.count && boxes.count > 4)
        #expect(
            try answer(server, Self.dotNet("/v1/vision/custom/list", nil))["models"] as? [String] == ["face", "spots"])

        // The names of files: a token, one with a blank, one that is not ASCII.
        let people: [(String, [Part])] = [
            ("Mary Ann", [Part(name: "image1", content: blue, file: frame), .text("userid", "Mary Ann")]),
            (
                "Zoë",
                [
                    .text("userid", "Zoë"),
                    Part(
                        name: "image0", content: red,
                        file: "filename=\"=?utf-8?B?Wm/DqyAxLnBuZw==?=\"; filename*=utf-8''Zo%C3%AB%201.png"),
                    Part(
                        name: "image1", content: try Self.picture((231, 20, 20)),
                        file: "filename=\"zoe 2.png\"; filename*=utf-8''zoe%202.png"),
                ]
            ),
        ]
        for (person, parts) in people {
            let message = try answer(server, Self.dotNet("/v1/vision/face/register", parts))["message"]
            #expect(message as? String == "face added", "\(person)")
        }
        #expect(
            try answer(server, Self.dotNet("/v1/vision/face/list", nil))["faces"] as? [String] == ["Mary Ann", "Zoë"])
        let teal = try Self.picture((20, 120, 180))
        for (asked, person) in [(teal, "Mary Ann"), (red, "Zoë")] {
            let parts = [Part(name: "image", content: asked, file: frame), .text("min_confidence", "0.7")]
            let found = try names(answer(server, Self.dotNet("/v1/vision/face/recognize", parts)))
            #expect(Set(found) == [person] && !found.isEmpty)
        }
        _ = try answer(server, Self.dotNet("/v1/vision/face/delete", [.text("userid", "Zoë")]))
        #expect(try answer(server, Self.dotNet("/v1/vision/face/list", nil))["faces"] as? [String] == ["Mary Ann"])
        #expect(server.daemon.stop() == 0)
    }

    @Test("double-take trains, recognizes and removes faces, in chunks")
    func doubleTake() throws {
        let server = try PipelineDaemon(["face": Self.face], ["--dialects", "deepstack"])
        try server.create("persons")
        // Noise, so that the file has several chunks.
        let noise = try PipelineDaemon.png(width: 240, height: 160) { x, y in
            let value = UInt32(x) &* 2_654_435_761 ^ UInt32(y) &* 2_246_822_519
            return (UInt8(value >> 8 & 63), UInt8(value >> 16 & 63), UInt8(190 + value >> 26))
        }
        #expect(noise.count > 65_536)
        let train = [Part(name: "image", content: noise, file: "9c1c.png"), .text("userid", "mary")]
        let key = [Part.text("api_key", "secret")]
        #expect(try answer(server, Self.axios("/v1/vision/face/register", train))["message"] as? String == "face added")
        #expect(
            try answer(server, Self.axios("/v1/vision/face/register", train + key))["message"] as? String
                == "face updated")
        let asked = [Part(name: "image", content: noise, file: "8d.png")] + key
        let found = try names(answer(server, Self.axios("/v1/vision/face/recognize", asked)))
        #expect(Set(found) == ["mary"])
        _ = try answer(server, Self.axios("/v1/vision/face/delete", [.text("userid", "mary")]))
        #expect(Set(try names(answer(server, Self.axios("/v1/vision/face/recognize", asked)))) == ["unknown"])
        #expect(server.daemon.stop() == 0)
    }
}

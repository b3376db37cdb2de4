import Foundation
import ImagePipeline
import TestSupport
import Testing

/// Raw frames over HTTP: as bodies, parts and values, and refused by their heads.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct RawFramesTests {
    private typealias Pixels = OrientationRequestsTests.Pixels

    private static let scene = SharedData.packageRoot.appendingPathComponent(
        "Tests/ImagePipelineTests/Fixtures/scene.png")
    private static let models = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pipelines").path

    /// A frame of BGRA with rows of 16 bytes more than their pixels, and its media type.
    private static func frame(_ pixels: Pixels) -> (bytes: Data, type: String) {
        let stride = pixels.width * 4 + 16
        var bytes = Data(count: stride * pixels.height)
        for y in 0..<pixels.height {
            for x in 0..<pixels.width {
                let from = (y * pixels.width + x) * 3, to = y * stride + x * 4
                for (place, channel) in [2, 1, 0].enumerated() { bytes[to + place] = pixels.bytes[from + channel] }
                bytes[to + 3] = 255
            }
        }
        return (bytes, "video/x-raw;format=BGRA;width=\(pixels.width);height=\(pixels.height);stride=\(stride)")
    }

    private static func seen(_ answer: Answer) throws -> NSObject {
        #expect(answer.status == 200, "\(answer.text.prefix(300))")
        let results = ["classifications", "embedding", "detections", "outputs"].compactMap { answer.json[$0] }
        return try #require(results.first as? NSObject, "\(answer.text.prefix(300))")
    }

    /// A form with parts of any type.
    private static func form(_ parts: [(type: String, bytes: Data)]) -> Data {
        var body = Data()
        for (type, bytes) in parts {
            body += Data("--x\r\nContent-Disposition: form-data; name=image\r\nContent-Type: \(type)\r\n\r\n".utf8)
            body += bytes + Data("\r\n".utf8)
        }
        return body + Data("--x--\r\n".utf8)
    }

    @Test("a frame gives the answer of the picture that has its pixels: as a body, a part and a value, for each task")
    func everyWay() throws {
        let daemon = try Daemon(["--models", Self.models])
        let pixels = try Pixels(of: Self.scene), png = try Data(contentsOf: Self.scene)
        let (bytes, type) = Self.frame(pixels)
        func post(_ body: Data, _ path: String, _ type: String) throws -> Answer {
            try Curl.run(daemon.url + path, ["-H", "Content-Type: \(type)", "--data-binary", "@-"], input: body)
        }
        for path in ["colors/classify", "means/embed", "spots/detect", "looks/detect", "colors/predict"] {
            let path = "/v1/models/" + path
            let expected = try Self.seen(post(png, path, "image/png"))
            let answer = try post(bytes, path, type)
            #expect(try Self.seen(answer) == expected, "\(path)")
            let image = answer.json["image"] as? [String: Any]
            #expect(image?["format"] as? String == "raw" && image?["orientation"] as? Int == 1)
            #expect(image?["width"] as? Int == pixels.width && image?["height"] as? Int == pixels.height)
            let form = try post(Self.form([(type, bytes)]), path, "multipart/form-data; boundary=x")
            #expect(try Self.seen(form) == expected, "\(path), form")
            let turned = Self.frame(pixels.stored(6))
            #expect(try Self.seen(post(turned.bytes, path + "?orientation=right", turned.type)) == expected)
            let chunked = try Curl.run(
                daemon.url + path,
                ["-H", "Content-Type: \(type)", "-H", "Transfer-Encoding: chunked", "--data-binary", "@-"], input: bytes
            )
            #expect(try Self.seen(chunked) == expected, "\(path), chunked")
        }
        // A value with a type, in the body of predict and of TensorFlow Serving's predict.
        let value = "{\"b64\": \"\(bytes.base64EncodedString())\", \"type\": \"\(type)\"}"
        let whole = try Self.seen(post(png, "/v1/models/colors/predict", "image/png"))
        let json = try post(Data("{\"inputs\": [\(value)]}".utf8), "/v1/models/colors/predict", "application/json")
        #expect(try Self.seen(json) == whole)
        let instances = try post(
            Data("{\"instances\": [\(value)]}".utf8), "/v1/models/colors:predict", "application/json")
        #expect(instances.status == 200, "\(instances.text.prefix(300))")
        // The steps, and the tensor.
        let explain = "/v1/models/colors/classify?explain="
        #expect(try post(bytes, explain + "npy", type).body == post(png, explain + "npy", "image/png").body)
        let steps = try post(bytes, explain + "preprocess", type).json["steps"] as? [[String: Any]]
        #expect(steps?.first?["pixels"] as? String == "BGRA")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("one bad frame of a form does not lose the others, and each error names what it expected")
    func formsOfFrames() throws {
        let daemon = try Daemon(["--models", Self.models])
        let (bytes, type) = Self.frame(try Pixels(of: Self.scene))
        let tight = type.replacingOccurrences(of: ";stride=616", with: "")
        #expect(tight != type)
        let body = Self.form([
            (type, bytes), (tight, bytes), ("video/x-raw;format=YUY2;width=2;height=2", Data(count: 8)),
            ("video/x-raw;format=RGB;width=2", Data(count: 12)), (type, bytes),
        ])
        let answer = try Curl.run(
            daemon.url + "/v1/models/colors/classify",
            ["-H", "Content-Type: multipart/form-data; boundary=x", "--data-binary", "@-"], input: body)
        let results = answer.json["results"] as? [[String: Any]] ?? []
        #expect(answer.status == 200 && results.count == 5, "\(answer.text.prefix(300))")
        for (result, (code, words)) in zip(
            results,
            [
                (nil, ""), ("invalid_image", "expected 67800 bytes"), ("unsupported_media_type", "NV12, I420"),
                ("invalid_image", "height="), (nil, ""),
            ] as [(String?, String)])
        {
            #expect(result["code"] as? String == code)
            if code != nil { #expect((result["error"] as? String)?.contains(words) == true, "\(result)") }
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Nothing is sent after the head, so an answer means that nothing was waited for.
    @Test("type, limits and length are compared before a byte of the body is sent")
    func byTheHead() throws {
        let daemon = try Daemon(["--max-pixels", "100000"])
        for (type, length, status, code, words) in [
            ("format=RGB;width=2147483648;height=2147483648", 3, 413, "image_too_large", "2147483648"),
            ("format=RGB;width=4294967312;height=12", 576, 413, "image_too_large", "65535"),
            ("format=RGB;width=1000;height=1000", 3_000_000, 413, "image_too_large", "(max_pixels)"),
            ("format=BGRA;width=7;height=5", 139, 400, "invalid_image", "expected 140 bytes"),
            ("format=NV12;width=7;height=5", 58, 400, "invalid_image", "expected 59 bytes"),
            ("format=RGB;width=7;height=5;stride=20", 100, 400, "invalid_image", "at least 21 bytes"),
            ("format=RGB;width=0;height=5", 0, 400, "invalid_image", "width of at least 1, found 0"),
            ("format=RGB;width=7;height=-5", 0, 400, "invalid_image", "found \"-5\""),
            ("format=RGB;width=7", 105, 400, "invalid_image", "expected height=rows"),
            ("format=RGB;width=7;height=5;width=7", 105, 400, "invalid_image", "\"width\" is given twice"),
            ("format=RGB;width=7;height=5;framerate=30", 105, 400, "invalid_image", "known: format, width"),
            ("format=NV12;width=7;height=5;colorimetry=bt2020", 59, 400, "invalid_image", "bt601 or bt709"),
            ("format=YUY2;width=4;height=4", 32, 415, "unsupported_media_type", "GRAY8, NV12, I420"),
            ("format=bgra;width=4;height=4", 64, 415, "unsupported_media_type", "BGRA"),
            ("width=4;height=4", 64, 400, "invalid_image", "expected format=one of"),
        ] as [(String, Int, Int, String, String)] {
            for path in ["/v1/classify", "/v1/models/digits/predict"] {
                let client = try RawClient(daemon.url)
                try client.send(
                    "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: video/x-raw;\(type)\r\nContent-Length: \(length)\r\n\r\n"
                )
                let answer = try client.response()
                #expect(answer.status == status && answer.text.contains("\"\(code)\""), "\(type): \(answer.text)")
                #expect(answer.text.contains(words.replacingOccurrences(of: "\"", with: "\\\"")), "\(answer.text)")
            }
        }
        // The body's own limit comes after: 4K is too large as BGRA.
        let client = try RawClient(daemon.url)
        try client.send(
            "POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 33177600\r\n\r\n"
        )
        #expect(try client.response().status == 413)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("without a length in the head, a wrong length is found when the body has arrived")
    func withoutALength() throws {
        let daemon = try Daemon()
        let answer = try Curl.run(
            daemon.url + "/v1/classify",
            [
                "-H", "Content-Type: video/x-raw;format=RGB;width=7;height=5", "-H", "Transfer-Encoding: chunked",
                "--data-binary", "@-",
            ], input: Data(count: 104))
        #expect(answer.status == 400 && answer.code == "invalid_image", "\(answer.text)")
        #expect(answer.error.contains("expected 105 bytes") && answer.error.contains("found 104"), "\(answer.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a frame that begins like a file is a frame, and frames can be turned off")
    func framesAreDeclared() throws {
        var daemon = try Daemon()
        // A BMP's and a JSON object's first bytes.
        for start in ["BM..............\u{28}\0\0\0", "{\"inputs\": 1}"] {
            let bytes = Data(start.utf8) + Data(count: 64 * 64 - start.utf8.count)
            for path in ["/v1/classify", "/v1/models/digits/predict"] {
                let answer = try Curl.run(
                    daemon.url + path,
                    ["-H", "Content-Type: video/x-raw;format=GRAY8;width=64;height=64", "--data-binary", "@-"],
                    input: bytes)
                #expect(answer.status == 200, "\(answer.text.prefix(300))")
            }
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
        daemon = try Daemon(["--picture-formats", "jpeg,png"])
        let answer = try Curl.run(
            daemon.url + "/v1/classify",
            ["-H", "Content-Type: video/x-raw;format=GRAY8;width=1;height=1", "--data-binary", "@-"],
            input: Data(count: 1))
        #expect(answer.status == 415 && answer.error.contains("(picture_formats)"), "\(answer.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// A kept picture is embedded again when the embedder has changed, without its request.
    @Test("frames and pictures with a stated orientation are taught and kept as upright PNGs")
    func taught() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-taught-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let daemon = try Daemon([
            "--models", Self.models, "--taught-dir", folder.path, "--taught-keep-pictures", "true",
        ])
        let made = try Curl.run(
            daemon.url + "/v1/taught/kept",
            ["-X", "PUT", "-H", "Content-Type: application/json", "-d", "{\"embedder\": \"means\"}"])
        #expect(made.status == 201, "\(made.text)")
        let pixels = try Pixels(of: Self.scene), examples = daemon.url + "/v1/taught/kept/examples?label=a"
        func added(_ body: Data, _ query: String, _ type: String) throws -> [String: Any] {
            let answer = try Curl.run(
                examples + query, ["-H", "Content-Type: \(type)", "--data-binary", "@-"], input: body)
            return try #require((answer.json["added"] as? [[String: Any]])?.first, "\(answer.text)")
        }
        let (bytes, type) = Self.frame(pixels)
        let frame = try added(bytes, "", type)
        let turned = try added(pixels.stored(6).png(), "&orientation=right", "image/png")
        #expect(frame["new"] as? Bool == true && turned["new"] as? Bool == false, "both show the upright picture")
        #expect(frame["id"] as? String == turned["id"] as? String)
        let id = try #require(frame["id"] as? String)
        let kept = folder.appendingPathComponent("kept/pictures/\(id)")
        let found = try Pixels(of: kept)
        #expect(found.bytes == pixels.bytes && found.width == pixels.width)
        // Without a stated orientation the file itself is the example.
        #expect(try added(pixels.stored(6).png(), "", "image/png")["new"] as? Bool == true)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "the shared frames are answered or refused as their cases say",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func seeds() throws {
        let folder = try #require(SharedData.folder).appendingPathComponent("seeds")
        let cases = try JSONSerialization.jsonObject(
            with: Data(contentsOf: folder.appendingPathComponent("cases.json")))
        let raw = try #require((cases as? [String: Any])?["raw"] as? [[String: Any]])
        let daemon = try Daemon()
        for one in raw {
            let type = try #require(one["type"] as? String)
            let body =
                if let file = one["file"] as? String { try Data(contentsOf: folder.appendingPathComponent(file)) } else
                {
                    Data(count: one["bytes"] as? Int ?? 0)
                }
            let answer = try Curl.run(
                daemon.url + "/v1/classify", ["-H", "Content-Type: \(type)", "--data-binary", "@-"], input: body)
            if let code = one["error"] as? String {
                #expect(answer.code == code, "\(type): \(answer.text)")
            } else {
                #expect(
                    (answer.json["image"] as? [String: Any])?["format"] as? String == "raw", "\(type): \(answer.text)")
            }
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}

import Foundation
import ImagePipeline
import TestSupport
import Testing

/// One picture, stored in each of the eight ways and said to be so: every task gives the answer of the upright picture.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct OrientationRequestsTests {
    static let names = [
        "up", "up_mirrored", "down", "down_mirrored", "left_mirrored", "right", "right_mirrored", "left",
    ]

    /// Red, green and blue of a picture.
    struct Pixels {
        let width: Int, height: Int
        let bytes: [UInt8]

        /// The pixels of a file without an orientation.
        init(of file: URL) throws {
            let data = [UInt8](try Data(contentsOf: file))
            let info = try data.withUnsafeBytes { bytes throws(ImageError) in try ImagePipeline.probe(bytes) }
            let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: info.width, height: info.height))
            var pixels = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
            _ = try data.withUnsafeBytes { bytes in
                try pixels.withUnsafeMutableBytes { try pipeline.prepare(bytes, into: $0) }
            }
            self.init(width: info.width, height: info.height, bytes: pixels)
        }

        init(width: Int, height: Int, bytes: [UInt8]) { (self.width, self.height, self.bytes) = (width, height, bytes) }

        func png() throws -> Data {
            Data(
                try bytes.withUnsafeBytes {
                    try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
                })
        }

        /// The pixels as stored so that an orientation displays these. EXIF 2.32 defines each value by the sides at
        /// which the stored first row and first column are displayed.
        func stored(_ exif: Int) -> Pixels {
            let (w, h) = exif > 4 ? (height, width) : (width, height)
            var stored = [UInt8](repeating: 0, count: bytes.count)
            for y in 0..<height {
                for x in 0..<width {
                    let row = [y, y, height - 1 - y, height - 1 - y, x, width - 1 - x, width - 1 - x, x][exif - 1]
                    let column = [x, width - 1 - x, width - 1 - x, x, y, y, height - 1 - y, height - 1 - y][exif - 1]
                    for channel in 0..<3 {
                        stored[(row * w + column) * 3 + channel] = bytes[(y * width + x) * 3 + channel]
                    }
                }
            }
            return Pixels(width: w, height: h, bytes: stored)
        }
    }

    private static let scene = SharedData.packageRoot.appendingPathComponent(
        "Tests/ImagePipelineTests/Fixtures/scene.png")
    private static let models = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pipelines").path

    /// The part of an answer that tells what was seen.
    private static func seen(_ answer: Answer) throws -> NSObject {
        #expect(answer.status == 200, "\(answer.text.prefix(300))")
        let results = ["classifications", "embedding", "detections", "outputs"].compactMap { answer.json[$0] }
        return try #require(results.first as? NSObject, "\(answer.text.prefix(300))")
    }

    private static func image(_ answer: Answer) -> [String: Any] { answer.json["image"] as? [String: Any] ?? [:] }

    @Test(
        "a picture stored in each way gives the upright picture's answer: by query, form and JSON, also from a pipeline"
    )
    func everyWay() throws {
        let daemon = try Daemon(["--models", Self.models])
        let upright = try Pixels(of: Self.scene), whole = try upright.png()
        func post(_ body: Data, _ path: String, _ more: [String] = []) throws -> Answer {
            try Curl.run(daemon.url + path, more + ["--data-binary", "@-"], input: body)
        }
        for path in ["colors/classify", "means/embed", "spots/detect", "looks/detect", "colors/predict"] {
            let path = "/v1/models/" + path
            let expected = try Self.seen(post(whole, path))
            for exif in 1...8 {
                let stored = upright.stored(exif), turned = try stored.png(), name = Self.names[exif - 1]
                for text in ["\(exif)", name] {
                    let answer = try post(turned, "\(path)?orientation=\(text)")
                    #expect(try Self.seen(answer) == expected, "\(path) \(text)")
                    let image = Self.image(answer)
                    #expect(image["orientation"] as? Int == exif)
                    #expect(image["width"] as? Int == stored.width && image["height"] as? Int == stored.height)
                }
                let form = try Curl.run(
                    daemon.url + path, ["-F", "image=@-;filename=a.png", "-F", "orientation=\(name)"], input: turned)
                #expect(try Self.seen(form) == expected, "\(path) \(exif), form")
                guard path.hasSuffix("predict") else { continue }
                // The orientation of a value goes before that of the request.
                for (value, query) in [("\(exif)", "?orientation=\(exif % 8 + 1)"), ("\"\(name)\"", "")] {
                    let json =
                        "{\"inputs\": [{\"b64\": \"\(turned.base64EncodedString())\", \"orientation\": \(value)}]}"
                    let answer = try post(Data(json.utf8), path + query, ["-H", "Content-Type: application/json"])
                    #expect(try Self.seen(answer) == expected, "\(value) \(query)")
                }
            }
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("the orientation in a file is replaced, ignored or applied, and the answer says the one that was used")
    func theFilesOwn() throws {
        let daemon = try Daemon(["--models", Self.models])
        let file = SharedData.packageRoot.appendingPathComponent("Tests/ImagePipelineTests/Fixtures/orientation-6.png")
        let url = daemon.url + "/v1/models/colors/classify?orientation="
        for (text, used) in [("apply", 6), ("ignore", 1), ("3", 3), ("up", 1), ("left", 8)] {
            let answer = try Curl.post(file, to: url + text)
            #expect(Self.image(answer)["orientation"] as? Int == used, "\(text): \(answer.text.prefix(300))")
        }
        // The steps tell both.
        let steps = try Curl.post(file, to: url + "3&explain=preprocess").json["steps"] as? [[String: Any]]
        let step = steps?.first { $0["operation"] as? String == "orient" }
        #expect(step?["exif"] as? Int == 6 && step?["is"] as? String == "replaced" && step?["by"] as? Int == 3)
        for wrong in ["0", "9", "sideways", ""] {
            let answer = try Curl.post(file, to: url + wrong)
            #expect(answer.status == 400 && answer.code == "bad_request", "\(answer.text.prefix(300))")
            #expect(answer.error.contains("\"up_mirrored\"") && answer.error.contains("found \"\(wrong)\""))
        }
        let json = Data("{\"inputs\": [{\"b64\": \"AAAA\", \"orientation\": 0}]}".utf8)
        let answer = try Curl.run(
            daemon.url + "/v1/models/colors/predict", ["-H", "Content-Type: application/json", "--data-binary", "@-"],
            input: json)
        #expect(answer.status == 400 && answer.error.contains("found \"0\""), "\(answer.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("the commands take the orientation: the same lines for a picture stored in another way, and upright drawings")
    func commands() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-ways-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let upright = try Pixels(of: Self.scene)
        for (name, pixels) in [("upright", upright), ("turned", upright.stored(6))] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
            try pixels.png().write(to: folder.appendingPathComponent("\(name)/a.png"))
        }
        func run(_ command: [String], _ name: String, _ more: [String] = []) throws -> [String: Any] {
            let result = try Shell.run(
                Daemon.binary.path,
                command + ["--json", "--models", Self.models] + more
                    + [folder.appendingPathComponent("\(name)/a.png").path],
                environment: ["XDG_CACHE_HOME": Daemon.cache.path])
            #expect(result.status == 0, "\(result.errors)")
            return try JSONSerialization.jsonObject(with: result.output) as? [String: Any] ?? [:]
        }
        for (command, member) in [
            (["classify", "--model", "colors"], "classifications"), (["embed", "--model", "means"], "embedding"),
            (["detect", "--model", "looks"], "detections"),
        ] {
            let expected = try run(command, "upright")[member] as? NSObject
            #expect(expected != nil)
            #expect(
                try run(command, "turned", ["--orientation", "right"])[member] as? NSObject == expected, "\(command)")
        }
        var drawings: [Data] = []
        for (name, orientation) in [("upright", "apply"), ("turned", "6")] {
            let drawn = folder.appendingPathComponent("drawn-\(name)")
            _ = try run(["detect", "--model", "spots"], name, ["--orientation", orientation, "--draw", drawn.path])
            let files = try FileManager.default.contentsOfDirectory(at: drawn, includingPropertiesForKeys: nil)
            drawings.append(try Data(contentsOf: #require(files.first)))
        }
        #expect(drawings[0] == drawings[1])
        let wrong = try Shell.run(
            Daemon.binary.path, ["classify", "--orientation", "0", Self.scene.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(wrong.status == 2 && wrong.errors.contains("--orientation: expected \"apply\""), "\(wrong.errors)")
    }
}

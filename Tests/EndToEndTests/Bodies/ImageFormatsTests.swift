import Foundation
import ImagePipeline
import TestSupport
import Testing

/// Lists of formats have exactly the decoded formats.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct ImageFormatsTests {
    static let examples: [(format: ImageFormat, file: String)] = [
        (.jpeg, "scene-444.jpg"), (.png, "scene.png"), (.webp, "scene-lossy.webp"), (.pbm, "bits.pbm"),
        (.pgm, "gray.pgm"), (.ppm, "scene.ppm"), (.pam, "faded.pam"),
    ]

    /// The formats that are decoded in separate processes; their examples are shared data.
    static let confined: [(format: ImageFormat, file: String)] = [
        (.heic, "heic/grid_iphone.heic"), (.avif, "avif/grid_irot90.avif"), (.tiff, "tiff/tiles_deflate.tif"),
        (.gif, "gif/87a.gif"), (.bmp, "bmp/24bit_topdown.bmp"), (.jxl, "jxl/lossless.jxl"),
    ]

    @Test("the 415 message, /openapi.json, the page and the documents name exactly the decoded image formats")
    func messageDescriptionPageAndDocumentsNameEveryFormat() throws {
        let daemon = try Daemon()
        let classify = daemon.url + "/v1/classify"
        let formats = (Self.examples + Self.confined).map(\.format)
        #expect(Set(formats) == Set(ImageFormat.files), "each format has an example here")
        let own = SharedData.packageRoot.appendingPathComponent("Tests/ImagePipelineTests/Fixtures")
        var files = Self.examples.map { ($0.format, own.appendingPathComponent($0.file)) }
        if let shared = SharedData.folder {
            files += Self.confined.map { ($0.format, shared.appendingPathComponent("pictures/\($0.file)")) }
        }
        for (format, file) in files {
            let answer = try Curl.post(file, to: classify, ["-H", "Content-Type: \(format.mediaType)"])
            #expect((answer.json["image"] as? [String: Any])?["format"] as? String == format.rawValue, "\(answer.text)")
        }

        let refusal = try Curl.run(classify, ["--data-binary", "%PDF-1.7"]).error
        #expect(refusal.hasPrefix("this looks like PDF; expected "), "\(refusal)")
        #expect(Self.titles(in: refusal) == Set(ImageFormat.files.map(\.title)), "\(refusal)")

        try checkDescription(try Curl.run(daemon.url + "/openapi.json").json)

        let page = try Curl.run(daemon.url).text
        let accepted = page.split(separator: "accept=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
        // To classify, and to teach.
        #expect(accepted.count == 2)
        for types in accepted {
            #expect(types.split(separator: ",").map(String.init).sorted() == Self.mediaTypes, "\(types)")
        }
        for document in ["README.md", "docs/http-api.md"] {
            let text = try String(
                contentsOf: SharedData.packageRoot.appendingPathComponent(document), encoding: .utf8)
            for format in ImageFormat.allCases { #expect(text.contains(format.title), "\(document)") }
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("the packages of docs/http-api.md for formats are suggested by the .deb, and in tests and images")
    func packagesOfFormatsAreNamedEverywhere() throws {
        func text(_ file: String) throws -> String {
            try String(contentsOf: SharedData.packageRoot.appendingPathComponent(file), encoding: .utf8)
        }
        let packages = Set(try text("docs/http-api.md").matches(of: #/\| `(lib[a-z0-9.]+)` \|/#).map { String($0.1) })
        #expect(packages.count == 4)
        let (suggested, tested) = (try text("scripts/deb"), try text("scripts/setup-tests"))
        let image = try text("deploy/checks/rootfs.py")
        for package in packages {
            #expect(suggested.contains(" \(package)") && tested.contains(":\(package)"), "\(package)")
            #expect(image.contains("\"\(package.prefix { $0.isLetter }).so."), "\(package)")
        }
    }

    private static let mediaTypes = ImageFormat.files.map(\.mediaType).sorted()

    /// The formats that a message lists as expected.
    private static func titles(in sentence: String) -> Set<String> {
        let list = sentence.components(separatedBy: "expected ").last ?? ""
        return Set(
            list.components(separatedBy: " (")[0].replacingOccurrences(of: " or ", with: ", ")
                .components(separatedBy: ", "))
    }

    /// Every body that may be a picture has the same media types, and answers name the same formats.
    private func checkDescription(_ description: [String: Any]) throws {
        let paths = try #require(description["paths"] as? [String: [String: Any]])
        var bodies = 0
        for (path, operations) in paths {
            let post = operations["post"] as? [String: Any]
            let content = (post?["requestBody"] as? [String: Any])?["content"] as? [String: Any] ?? [:]
            guard content["application/octet-stream"] != nil, content["multipart/form-data"] != nil else { continue }
            bodies += 1
            #expect(content.keys.filter { $0.hasPrefix("image/") }.sorted() == Self.mediaTypes, "\(path)")
            #expect(content["video/x-raw"] != nil, "\(path)")
        }
        #expect(bodies == 22, "classify, five tasks (three paths each), predict (two), examples, search")
        let schemas = (description["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]]
        let image = schemas?["image"]?["properties"] as? [String: [String: Any]]
        #expect(image?["format"]?["enum"] as? [String] == ImageFormat.allCases.map(\.rawValue))
    }
}

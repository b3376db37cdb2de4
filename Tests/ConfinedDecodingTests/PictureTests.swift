import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// Pictures of all formats have the pixels that Pillow and pillow-heif read.
@Suite(.enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
struct PictureTests {
    struct Picture: Decodable, Sendable, CustomTestStringConvertible {
        let file: String, format: String, displayed: [Int], expect: String, sha256: String, tolerance: Int
        let expected: String?
        let also: [String: String]?

        var testDescription: String { file }
        /// Debian 12's libjxl reads recoded JPEGs without interpolating chroma; Pillow's plug-in interpolates.
        var mayDifferAtEdges: Bool { file == "jxl/orientation6_from_jpeg.jxl" }
    }

    private struct Manifest: Decodable { let pictures: [Picture] }

    static let folder = SharedData.folder?.appendingPathComponent("pictures")

    static let pictures: [Picture] = {
        guard let file = folder?.appendingPathComponent("manifest.json"), let data = try? Data(contentsOf: file),
            let manifest = try? JSONDecoder().decode(Manifest.self, from: data)
        else { return [] }
        return manifest.pictures
    }()

    private static let decoder = Probe.decoder()

    static func bytes(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: try #require(folder).appendingPathComponent(file)))
    }

    @Test("there are 64 pictures, of every format that a separate process decodes")
    func thereArePicturesOfAllFormats() {
        #expect(
            Set(Self.pictures.compactMap { ImageFormat(rawValue: $0.format) })
                == Set(ImageFormat.allCases.filter(\.isConfined)))
        #expect(Self.pictures.count == 64)
    }

    @Test("the pixels of a picture are those that Pillow reads, within its tolerance", arguments: pictures)
    func pixelsAreThoseOfPillow(_ picture: Picture) throws {
        let bytes = try Self.bytes(picture.file)
        let format = try #require(bytes.withUnsafeBytes { ImagePipeline.format(of: $0) })
        #expect(format.rawValue == picture.format)
        guard try Self.decoder.reasonAgainst(format) == nil else {
            print("skipped \(picture.file): \(try Self.decoder.reasonAgainst(format) ?? "")")
            return
        }
        let image = try Self.decoder.decode(bytes, format: format)
        let transposes = image.info.orientation > 4
        let displayed = transposes ? [image.info.height, image.info.width] : [image.info.width, image.info.height]
        #expect(displayed == picture.displayed)
        let pixels = try ImagePipeline.pixels(displayed[0], displayed[1]) { try $0.prepare(image, into: $1) }
        let sum = String(try Shell.run("sha256sum", [], input: Data(pixels)).text.prefix(64))
        if sum == picture.sha256 || picture.also?.values.contains(sum) == true { return }
        let file = try #require(picture.expected, "the pixels differ, and nothing allows that")
        let png = try Self.bytes(file)
        let expected = try ImagePipeline.pixels(displayed[0], displayed[1]) { pipeline, destination in
            try png.withUnsafeBytes { try pipeline.prepare($0, into: destination) }
        }
        let differences = zip(pixels, expected).map { abs(Int($0) - Int($1)) }
        if picture.mayDifferAtEdges {
            #expect(differences.reduce(0, +) < 2 * differences.count)
        } else {
            #expect(try #require(differences.max()) <= picture.tolerance)
        }
    }

    @Test("a page of a TIFF is chosen by its number, and a missing page is refused")
    func pageIsChosen() throws {
        let bytes = try Self.bytes("tiff/multipage.tif")
        var seen: [[UInt8]] = []
        for page in 0..<3 {
            let image = try Self.decoder.decode(bytes, format: .tiff, page: page)
            seen.append(
                try ImagePipeline.pixels(image.info.width, image.info.height) { try $0.prepare(image, into: $1) })
        }
        #expect(Set(seen).count == 3)
        #expect(throws: ImageError.corrupt("TIFF: it has no page 3 (pages count from 0)")) {
            _ = try Self.decoder.decode(bytes, format: .tiff, page: 3)
        }
    }
}

import Foundation
import ImagePipeline
import TestSupport
import Testing

/// Parts of pictures by perspective transforms against OpenCV: Tests/FixtureMakers/make-perspective-goldens.
@Suite struct PerspectiveTests {
    struct Golden: Decodable {
        let corners: [[Double]], width: Int, height: Int, turns: Int, pixels: String
    }

    private static func picture() throws -> PixelImage {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 1, height: 1))
        return try Fixtures.bytes("orientation-1.png").withUnsafeBytes { try pipeline.pixels($0) }
    }

    private static func points(_ corners: [[Double]]) -> [PicturePoint] {
        corners.map { PicturePoint(x: $0[0], y: $0[1]) }
    }

    /// Red, green and blue of all pixels.
    private static func pixels(_ image: PixelImage) throws -> [UInt8] {
        let spec = ImageTensorSpec(width: image.info.width, height: image.info.height, cropAndScale: .scaleFill)
        var tensor = [UInt8](repeating: 0, count: spec.byteCount)
        let pipeline = try ImagePipeline(spec: spec)
        _ = try tensor.withUnsafeMutableBytes { try pipeline.prepare(image, into: $0, options: ImageDecodeOptions()) }
        return tensor
    }

    @Test("parts between four corners, turned or not, equal OpenCV's within a level")
    func partsEqualOpenCVs() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/perspective.json")
        let goldens = try JSONDecoder().decode([Golden].self, from: Data(contentsOf: path)),
            picture = try Self.picture()
        #expect(goldens.count == 24)
        for (number, golden) in goldens.enumerated() {
            let part = try picture.straightened(
                Self.points(golden.corners), width: golden.width, height: golden.height, quarterTurns: golden.turns,
                maxPixels: 1_000)
            let isTall = golden.turns % 2 == 1
            #expect(part.info.width == (isTall ? golden.height : golden.width), "case \(number)")
            let digits = Array(golden.pixels)
            let expected = try stride(from: 0, to: digits.count, by: 2).map {
                try #require(Int(String(digits[$0...$0 + 1]), radix: 16))
            }
            let found = try Self.pixels(part)
            #expect(found.count == expected.count, "case \(number)")
            let largest = zip(found, expected).map { abs(Int($0) - $1) }.max() ?? .max
            #expect(largest <= 1, "case \(number) differs by \(largest)")
        }
    }

    @Test("a part with too many pixels, without a size, or with corners on a line is refused")
    func refusals() throws {
        let picture = try Self.picture(), corners = Self.points([[0, 0], [8, 0], [8, 8], [0, 8]])
        #expect(throws: ImageError.tooLarge(pixels: 64, limit: 63, width: 8, height: 8)) {
            _ = try picture.straightened(corners, width: 8, height: 8, maxPixels: 63)
        }
        #expect(throws: ImageError.self) {
            _ = try picture.straightened(corners, width: .max, height: 2, maxPixels: .max)
        }
        let line = Self.points([[0, 0], [1, 1], [2, 2], [3, 3]])
        for (corners, width) in [(line, 8), (corners, 0), (corners, -1), (Array(corners.dropLast()), 8)] {
            #expect(throws: ImageError.corrupt("the corners of the part are no quadrilateral")) {
                _ = try picture.straightened(corners, width: width, height: 8, maxPixels: 1_000)
            }
        }
    }

    @Test("corners far outside, at the horizon or without a number give pixels of the edge")
    func farCorners() throws {
        let picture = try Self.picture()
        for far in [1e300, -1e9, 1e6] {
            let corners = Self.points([[0, 0], [far, 0], [far, 8], [0, 8]])
            guard let part = try? picture.straightened(corners, width: 8, height: 8, maxPixels: 1_000) else { continue }
            #expect(try Self.pixels(part).count == 8 * 8 * 3)
        }
        let crossed = Self.points([[0, 0], [8, 8], [8, 0], [0, 8]])
        let part = try? picture.straightened(crossed, width: 8, height: 8, maxPixels: 1_000)
        #expect(part == nil || part?.info.width == 8)
    }
}

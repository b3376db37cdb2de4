import ImagePipeline
import Testing

/// Decoding only the needed rows and columns must not change any of them.
@Suite struct PartialDecodeTests {
    static let pictures = Fixtures.names.filter { $0.hasSuffix(".jpg") && !$0.contains("4000x3000") }

    static let specs = [
        ImageTensorSpec(width: 16, height: 16),
        ImageTensorSpec(width: 5, height: 60),
        ImageTensorSpec(width: 90, height: 7, channelOrder: .gray),
        ImageTensorSpec(width: 33, height: 31, resizeShorterSide: 64, decodeMargin: 1),
        ImageTensorSpec(width: 10, height: 11, resampler: .nearest, resizeShorterSide: 77),
        ImageTensorSpec(width: 64, height: 48, resampler: .bicubic, resizeShorterSide: 150, decodeMargin: 1),
        ImageTensorSpec(width: 3, height: 3, resizeShorterSide: 199, decodeMargin: 1),
        cut(32, 21), cut(33, 22),
    ]

    /// A cut from the middle of the unscaled picture; it begins at an even or an odd pixel.
    private static func cut(_ width: Int, _ height: Int) -> ImageTensorSpec {
        var spec = ImageTensorSpec(width: width, height: height)
        spec.keepsSize = true
        return spec
    }

    @Test("decoding only the needed rows and columns of a JPEG does not change the tensor", arguments: pictures, specs)
    func croppingAndSkippingChangeNothing(_ file: String, _ spec: ImageTensorSpec) throws {
        let picture = try Fixtures.bytes(file)
        let pipeline = try ImagePipeline(spec: spec)
        for full in [false, true] {
            var options = ImageDecodeOptions(fullDecode: full)
            let part = try pipeline.tensor(picture, options: options)
            options.decodesAllPixels = true
            #expect(try part == pipeline.tensor(picture, options: options), "full: \(full)")
        }
    }

    @Test(
        "damage to the right of a crop does not matter where each row of MCUs ends with a restart marker",
        arguments: ["large-rows-444.jpg", "large-rows-422.jpg", "large-rows-420.jpg"], [1, 100])
    func endsOfRowsAreNotDecoded(_ file: String, _ margin: Double) throws {
        var picture = try Fixtures.bytes(file)
        // The middle 600 of 900 columns.
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 32, height: 32, decodeMargin: margin))
        let whole = try pipeline.tensor(picture)
        let scan = try #require(picture.indices.first { picture[$0] == 0xFF && picture[$0 + 1] == 0xDA })
        var markers = 0
        for index in scan..<picture.count - 1 where picture[index] == 0xFF && (0xD0...0xD7).contains(picture[index + 1])
        {
            // No byte may become a marker, or the second byte of an escaped 0xFF.
            for byte in index - 8..<index where picture[byte] != 0xFF && picture[byte - 1] != 0xFF {
                picture[byte] ^= 0x2A
                if picture[byte] == 0xFF { picture[byte] = 0 }
            }
            markers += 1
        }
        #expect(markers > 30)
        #expect(try pipeline.tensor(picture) == whole)
        var options = ImageDecodeOptions()
        options.decodesAllPixels = true
        #expect(throws: ImageError.self) { try pipeline.tensor(picture, options: options) }
    }

    /// Only the cut part of a WebP is decoded, from an even pixel and with a margin.
    @Test(
        "the center cut of a WebP equals the same part of the whole decoded picture",
        arguments: ["scene-lossy.webp", "scene-lossless.webp", "scene-lossy-alpha.webp"],
        [(32, 21, 29, 24), (33, 22, 28, 24), (30, 20, 30, 25), (31, 23, 30, 24)])
    func aCutOfAWebPIsAPartOfIt(_ file: String, _ cut: (width: Int, height: Int, x: Int, y: Int)) throws {
        let picture = try Fixtures.bytes(file)
        let whole = try ImagePipeline(spec: ImageTensorSpec(width: 90, height: 70)).tensor(picture)
        let part = try ImagePipeline(spec: Self.cut(cut.width, cut.height)).tensor(picture)
        let expected = (0..<cut.height).flatMap { row in
            let start = ((cut.y + row) * 90 + cut.x) * 3
            return whole[start..<start + cut.width * 3]
        }
        #expect(part == expected)
    }
}

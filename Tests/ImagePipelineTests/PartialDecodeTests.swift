import ImagePipeline
import Testing

/// Decoding only the rows and columns that are needed must not change a single one of them.
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

    /// Cut from the middle as it is, from an even pixel and from an odd one.
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

    /// Of a WebP only what is cut out is decoded, from an even pixel and with a margin.
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

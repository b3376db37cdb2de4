import ImagePipeline
import Testing

/// The light of pixels, measured from tensors. Expected values: numpy, from the levels of the picture (mean and
/// deviation of 0.299 R + 0.587 G + 0.114 B, mean of the absolute steps to the right and below), at the same rows and
/// columns.
@Suite struct PictureLightTests {
    /// A picture as PPM. Its levels follow a formula that numpy computes too.
    private static func picture(_ width: Int, _ height: Int) -> [UInt8] {
        var bytes = Array("P6 \(width) \(height) 255\n".utf8)
        for y in 0..<height {
            for x in 0..<width {
                for c in 0..<3 {
                    let level = x * x / 4 + y * 5 * (c + 1) + x * y / 3 * (c + 2) / 2 + c * 40
                    bytes.append(UInt8(level % 256))
                }
            }
        }
        return bytes
    }

    private static func light(_ picture: [UInt8], _ spec: ImageTensorSpec) throws -> PictureLight? {
        let pipeline = try ImagePipeline(spec: spec)
        var tensor = [UInt8](repeating: 0xA5, count: spec.byteCount)
        let info = try picture.withUnsafeBytes { bytes in
            try tensor.withUnsafeMutableBytes { try pipeline.prepare(bytes, into: $0) }
        }
        return tensor.withUnsafeBytes { pipeline.light(of: $0, info: info, options: ImageDecodeOptions()) }
    }

    private static func expect(
        _ found: PictureLight?, _ brightness: Float, _ contrast: Float, _ sharpness: Float, within tolerance: Float
    ) throws {
        let found = try #require(found)
        #expect(
            abs(found.brightness - brightness) <= tolerance && abs(found.contrast - contrast) <= tolerance
                && abs(found.sharpness - sharpness) <= tolerance, "\(found)")
    }

    static let forms: [ImageTensorSpec] = TensorLayout.allCases.flatMap { layout in
        [ChannelOrder.rgb, .bgr].flatMap { order in
            PixelElement.allCases.map { element in
                var spec = ImageTensorSpec(
                    width: 21, height: 13, channelOrder: order, layout: layout, element: element)
                if element == .int8 { spec.bias = [-128, -128, -128] }
                if element == .float16 || element == .float32 {
                    spec.scale = [0.017, 1 / 127.5, -0.02]
                    spec.bias = [-2.1, -1, 3.5]
                }
                return spec
            }
        }
    }

    @Test("the light is that of the picture, whatever the tensor's form", arguments: forms)
    func lightOfForm(_ spec: ImageTensorSpec) throws {
        try Self.expect(
            try Self.light(Self.picture(21, 13), spec), 0.455283, 0.322044, 0.245297,
            within: spec.element == .float16 ? 1e-3 : 1e-5)
    }

    @Test("a mean and a standard deviation of training code are undone")
    func normalization() throws {
        var spec = ImageTensorSpec(width: 21, height: 13, element: .float32)
        spec.normalization = PixelNormalization(mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225])
        try Self.expect(try Self.light(Self.picture(21, 13), spec), 0.455283, 0.322044, 0.245297, within: 1e-5)
    }

    @Test("a gray tensor is its own luma")
    func gray() throws {
        let gray = Self.picture(21, 13).suffix(21 * 13 * 3).enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
        let spec = ImageTensorSpec(width: 21, height: 13, channelOrder: .gray)
        try Self.expect(
            try Self.light(Array("P5 21 13 255\n".utf8) + gray, spec), 0.328794, 0.420106, 0.115149, within: 1e-5)
    }

    /// 32 rows and columns: every seventh column and every fifth row of 200 x 150.
    @Test(
        "of large tensors some rows and columns are measured, of small ones all",
        arguments: [
            (200, 150, [0.498472, 0.392517, 0.526827]), (64, 64, [0.496967, 0.379892, 0.404396]),
            (65, 1, [0.404280, 0.393552, 0.244890]), (1, 1, [0.127843, 0, 0]),
        ] as [(Int, Int, [Float])])
    func sizes(_ width: Int, _ height: Int, _ expected: [Float]) throws {
        try Self.expect(
            try Self.light(Self.picture(width, height), ImageTensorSpec(width: width, height: height)),
            expected[0], expected[1], expected[2], within: 1e-5)
    }

    @Test(
        "the margins of a picture that is fitted into the tensor do not count",
        arguments: [FitAlignment.center, .topLeft])
    func margins(_ alignment: FitAlignment) throws {
        var spec = ImageTensorSpec(width: 40, height: 40, cropAndScale: .scaleFit)
        spec.alignment = alignment
        try Self.expect(
            try Self.light(Self.picture(40, 20), spec), 0.486456, 0.333090, 0.330872, within: 1e-5)
    }

    @Test("a tensor of another size has no light, and one with NaN is black")
    func strangeTensors() throws {
        let spec = ImageTensorSpec(width: 4, height: 4, element: .float32)
        let pipeline = try ImagePipeline(spec: spec)
        let info = ImageInfo(format: .png, width: 4, height: 4, orientation: 1)
        func light(_ tensor: [Float]) -> PictureLight? {
            tensor.withUnsafeBytes { pipeline.light(of: $0, info: info, options: ImageDecodeOptions()) }
        }
        #expect(light([Float](repeating: 0, count: 47)) == nil)
        #expect(light([Float](repeating: .nan, count: 48)) == PictureLight(brightness: 0, contrast: 0, sharpness: 0))
        let bright = light([Float](repeating: .infinity, count: 48))
        #expect(bright == PictureLight(brightness: 1, contrast: 0, sharpness: 0))
    }
}

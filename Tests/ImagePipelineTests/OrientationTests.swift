import ImagePipeline
import TestSupport
import Testing

@Suite struct OrientationTests {
    static let specs = [
        ImageTensorSpec(width: 20, height: 16),
        ImageTensorSpec(width: 9, height: 50, layout: .nchw, cropAndScale: .scaleFit, resampler: .bicubic),
        ImageTensorSpec(width: 64, height: 64, channelOrder: .gray, cropAndScale: .scaleFill),
        ImageTensorSpec(width: 24, height: 20, channelOrder: .bgr, element: .float32, resizeShorterSide: 26),
    ]

    @Test("PNGs of all eight orientations give the tensor of the upright picture", arguments: specs)
    func eightPNGsOfOnePictureGiveTheSameTensor(_ spec: ImageTensorSpec) throws {
        let pipeline = try ImagePipeline(spec: spec)
        let upright = try pipeline.tensor(Fixtures.bytes("orientation-1.png"))
        for orientation in 2...8 {
            let picture = try Fixtures.bytes("orientation-\(orientation).png")
            #expect(try ImagePipeline.probe(picture).orientation == orientation)
            #expect(try pipeline.tensor(picture) == upright, "orientation \(orientation)")
        }
    }

    /// The blocks of a JPEG have other positions in a rotated picture, so its compression errors differ.
    @Test("JPEGs of all eight orientations give nearly the tensor of the upright picture")
    func eightJPEGsOfOnePictureGiveNearlyTheSameTensor() throws {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 20, height: 16))
        let upright = try pipeline.tensor(Fixtures.bytes("orientation-1.jpg"))
        for orientation in 2...8 {
            let tensor = try pipeline.tensor(Fixtures.bytes("orientation-\(orientation).jpg"))
            let sum = zip(tensor, upright).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            #expect(Double(sum) / Double(tensor.count) < 3, "orientation \(orientation)")
        }
    }

    @Test("with the orientation ignored, a rotated PNG gives another tensor")
    func orientationCanBeIgnored() throws {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 20, height: 16))
        let picture = try Fixtures.bytes("orientation-6.png")
        let ignored = try pipeline.tensor(picture, options: ImageDecodeOptions(orientation: .ignore))
        #expect(try ignored != pipeline.tensor(picture))
    }

    /// The displayed pixel at (x, y) of a stored picture, by EXIF 2.32, tag 0x0112: each value names the sides of the
    /// displayed picture at which the stored row 0 and column 0 are.
    private static func stored(
        _ x: Int, _ y: Int, exif: Int, width: Int, height: Int
    ) -> (x: Int, y: Int) {
        switch exif {
        case 1: (x, y)  // row 0 at the top, column 0 at the left
        case 2: (width - 1 - x, y)  // top, right
        case 3: (width - 1 - x, height - 1 - y)  // bottom, right
        case 4: (x, height - 1 - y)  // bottom, left
        case 5: (y, x)  // left, top
        case 6: (y, height - 1 - x)  // right, top
        case 7: (width - 1 - y, height - 1 - x)  // right, bottom
        default: (width - 1 - y, x)  // left, bottom
        }
    }

    @Test(
        "a stated orientation replaces the one in the file, and is the one in the answer", arguments: 1...8, [1, 6, 7])
    func statedOrientation(_ exif: Int, _ inFile: Int) throws {
        let picture = try Fixtures.bytes("orientation-\(inFile).png")
        let info = try ImagePipeline.probe(picture)
        let width = info.width, height = info.height
        let asStored = try ImagePipeline(spec: ImageTensorSpec(width: width, height: height)).tensor(
            picture, options: ImageDecodeOptions(orientation: .ignore))
        let size = exif > 4 ? (width: height, height: width) : (width: width, height: height)
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: size.width, height: size.height))
        let options = ImageDecodeOptions(orientation: try #require(ImageOrientation(exif: exif)))
        var expected: [UInt8] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                let from = Self.stored(x, y, exif: exif, width: width, height: height)
                expected += asStored[(from.y * width + from.x) * 3..<(from.y * width + from.x) * 3 + 3]
            }
        }
        #expect(try pipeline.tensor(picture, options: options) == expected)
        var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
        let used = try picture.withUnsafeBytes { bytes in
            try tensor.withUnsafeMutableBytes { try pipeline.prepare(bytes, into: $0, options: options) }
        }
        #expect(used.orientation == exif)
        // All pixels at once, as for pipelines.
        let upright = try picture.withUnsafeBytes { try pipeline.pixels($0, orientation: options.orientation) }
        #expect(upright.info.width == size.width && upright.info.height == size.height && upright.info.orientation == 1)
        #expect(try upright.flattened(over: .white) == expected)
        // Said in the steps.
        let report = try picture.withUnsafeBytes { try pipeline.explain($0, options: options) }
        let step = report.steps.first { $0.operation == "orient" }
        #expect(report.image.orientation == exif)
        #expect((step == nil) == (exif == 1 && inFile == 1))
        if let step {
            #expect(
                step.parameters == ["exif": .number(Double(inFile)), "is": "replaced", "by": .number(Double(exif))])
        }
    }

    @Test(
        "pictures stored in each of the eight ways give Pillow's transpositions",
        .enabled(if: Seeds.areAvailable, Comment(rawValue: SharedData.absence)), arguments: 1...8)
    func orientationSeeds(_ exif: Int) throws {
        let expected = try Seeds.pixels("orientation/\(exif).png")
        let pipeline = try ImagePipeline(
            spec: ImageTensorSpec(width: expected.info.width, height: expected.info.height))
        let orientation = try #require(ImageOrientation(exif: exif))
        let found = try pipeline.tensor(
            Seeds.bytes("orientation/stored.png"), options: ImageDecodeOptions(orientation: orientation))
        #expect(try found == expected.flattened(over: .white))
    }

    /// All places where a picture may state its orientation (EXIF, EXIF in text, XMP), in each format and every order.
    @Test(
        "orientation in EXIF, EXIF as text, or XMP is read as Pillow reads the same file",
        arguments: Fixtures.orientations)
    func orientationIsReadWherePillowReadsIt(_ file: String, _ orientation: Int) throws {
        #expect(try ImagePipeline.probe(Fixtures.bytes("orientation/\(file)")).orientation == orientation)
    }

    @Test("PNG, JPEG and WebP have more than ten orientation fixtures each")
    func thereAreCasesOfEveryFormat() {
        for ending in [".png", ".jpg", ".webp"] {
            #expect(Fixtures.orientations.count { $0.0.hasSuffix(ending) } > 10)
        }
    }

    /// Truncations and changed bytes of compressed or hexadecimal text give some orientation, and no crash.
    @Test(
        "damaged orientation metadata gives an orientation from 1 to 8 or an error",
        arguments: ["raw-compressed.png", "raw-6.png", "xmp-compressed.png", "exif-in-two-segments.jpg", "xmp.webp"])
    func damagedMetadataIsHarmless(_ file: String) throws {
        let picture = try Fixtures.bytes("orientation/\(file)")
        for index in picture.indices {
            for value: UInt8 in [0, 0x39, 0xFF] {
                var damaged = picture
                damaged[index] = value
                if let info = try? ImagePipeline.probe(damaged) { #expect((1...8).contains(info.orientation)) }
            }
            if let info = try? ImagePipeline.probe(Array(picture[..<index])) {
                #expect((1...8).contains(info.orientation))
            }
        }
    }
}

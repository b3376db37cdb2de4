import ImagePipeline
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

    @Test("with ignoreOrientation, a rotated PNG gives another tensor")
    func orientationCanBeIgnored() throws {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 20, height: 16))
        let picture = try Fixtures.bytes("orientation-6.png")
        let ignored = try pipeline.tensor(picture, options: ImageDecodeOptions(ignoreOrientation: true))
        #expect(try ignored != pipeline.tensor(picture))
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

import ImagePipeline
import Testing

/// Sizes and positions exact to the pixel, at rounding limits, and the conditions for decoding at a reduced size.
@Suite struct GeometryTests {
    /// The number of tensor pixels to which a side of the picture is scaled, and the position of the first.
    private func axis(_ axis: PictureMapping.Axis) -> (scaled: Double, offset: Double) {
        ((axis.forward(Double(axis.length)) - axis.offset).rounded(toPlaces: 6), axis.offset)
    }

    /// torchvision's Resize: int(256 * 335 / 200) is 428, although the quotient is 428.8.
    @Test("resizing by the shorter side rounds the longer side down, as torchvision does")
    func theLongerSideIsRoundedDown() {
        let spec = ImageTensorSpec(width: 224, height: 224, resizeShorterSide: 256)
        let wide = PictureMapping(width: 335, height: 200, spec: spec)
        #expect(axis(wide.x) == (428, -102) && axis(wide.y) == (256, -16))
        let tall = PictureMapping(width: 200, height: 335, spec: spec)
        #expect(axis(tall.y) == (428, -102) && axis(tall.x) == (256, -16))
    }

    /// Python's round(), as in Pillow's ImageOps.contain and pad: halves to even.
    @Test(
        "the scaled side and the offset of a fitted picture round halves to even, as Pillow does",
        arguments: [
            (4, 1, 2.0, 4.0), (4, 3, 8.0, 1.0), (10, 7, 7.0, 2.0), (10, 5, 5.0, 2.0), (40, 27, 7.0, 2.0),
            (40, 26, 6.0, 2.0),
            (1000, 1, 1.0, 4.0),
        ])
    func whatIsFittedIsRoundedToEven(width: Int, height: Int, scaled: Double, offset: Double) {
        let spec = ImageTensorSpec(width: 10, height: 10, cropAndScale: .scaleFit)
        let wide = PictureMapping(width: width, height: height, spec: spec)
        #expect(axis(wide.x) == (10, 0) && axis(wide.y) == (scaled, offset))
        let tall = PictureMapping(width: height, height: width, spec: spec)
        #expect(axis(tall.y) == (10, 0) && axis(tall.x) == (scaled, offset))
    }

    @Test("the centering option decides on which side an odd pixel of crop or padding goes")
    func whereAnOddPixelGoes() {
        var spec = ImageTensorSpec(width: 10, height: 10, cropAndScale: .scaleFit)
        #expect(PictureMapping(width: 10, height: 7, spec: spec).y.offset == 2)
        spec.centering = .floor
        #expect(PictureMapping(width: 10, height: 7, spec: spec).y.offset == 1)

        // Cut from the unscaled picture: torchvision begins at round(1.5) and round(0.5), Hugging Face before the
        // middle.
        spec = ImageTensorSpec(width: 6, height: 6)
        spec.keepsSize = true
        let even = PictureMapping(width: 9, height: 7, spec: spec)
        #expect(even.x.offset == -2 && even.y.offset == 0)
        spec.centering = .floor
        let floor = PictureMapping(width: 9, height: 7, spec: spec)
        #expect(floor.x.offset == -1 && floor.y.offset == 0)

        // Padded if the picture is smaller: by half of three, rounded down, and up.
        let padded = PictureMapping(width: 3, height: 6, spec: spec)
        #expect(padded.x.offset == 2 && padded.y.offset == 0)
        spec.centering = .halfEven
        #expect(PictureMapping(width: 3, height: 6, spec: spec).x.offset == 1)
    }

    @Test("a center crop scales a wide picture to the tensor's height and cuts left and right equally")
    func theMiddleOfAPictureThatIsWiderThanTheTensor() {
        let mapping = PictureMapping(width: 301, height: 200, spec: ImageTensorSpec(width: 100, height: 100))
        #expect(mapping.x.offset == -25.25 && mapping.x.scale == 0.5)
        #expect(mapping.y.offset == 0 && mapping.y.scale == 0.5)
    }

    /// The expected values are the red of a picture of (37x + 11y, ...) mod 256, from crop_resize_ocv of OpenVINO Model
    /// API 0.4.7 with OpenCV 4.13.
    @Test(
        "with centering floor the middle is cut at whole pixels and then scaled, as in Model API",
        arguments: [
            (
                13, 10, 8,
                [
                    43, 89, 135, 182, 196, 18, 64, 111, 57, 103, 149, 195, 210, 32, 78, 124, 70, 117, 163, 209, 223, 46,
                    92, 138, 84, 130, 177, 223, 41, 59, 106, 152, 98, 144, 190, 237, 27, 73, 119, 166, 112, 158, 204,
                    166,
                    41, 87, 133, 179, 125, 172, 218, 40, 54, 101, 147, 193, 139, 185, 232, 54, 68, 114, 161, 207,
                ]
            ),
            (
                10, 13, 8,
                [
                    17, 63, 109, 156, 202, 152, 38, 85, 31, 77, 123, 169, 216, 166, 52, 98, 44, 91, 137, 183, 209, 80,
                    66,
                    112, 58, 104, 151, 197, 211, 33, 80, 126, 72, 118, 164, 211, 197, 47, 93, 140, 86, 132, 178, 224,
                    15,
                    61, 107, 153, 99, 146, 192, 238, 28, 75, 121, 167, 113, 159, 206, 56, 42, 88, 135, 181,
                ]
            ),
            // Enlarged: the pixels outside the part do not count.
            (5, 2, 4, [37, 46, 65, 74, 40, 49, 67, 77, 45, 54, 73, 82, 48, 57, 76, 85]),
            (7, 4, 4, [37, 74, 111, 148, 48, 85, 122, 159, 59, 96, 133, 170, 70, 107, 144, 181]),
        ] as [(Int, Int, Int, [UInt8])])
    func theMiddleInWholePixels(width: Int, height: Int, side: Int, red: [UInt8]) throws {
        var pixels: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                for channel in [37 * x + 11 * y, 5 * x + 53 * y, x * x + 29 * y] {
                    pixels.append(UInt8(truncatingIfNeeded: channel))
                }
            }
        }
        let png = try pixels.withUnsafeBytes {
            try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
        }
        var spec = ImageTensorSpec(width: side, height: side, resampler: .linear)
        spec.centering = .floor
        let pipeline = try ImagePipeline(spec: spec)
        var tensor = [UInt8](repeating: 0, count: side * side * 3)
        _ = try png.withUnsafeBytes { png in
            try tensor.withUnsafeMutableBytes { try pipeline.prepare(png, into: $0) }
        }
        // OpenCV rounds sums of 11-bit weights.
        let found = stride(from: 0, to: tensor.count, by: 3).map { tensor[$0] }
        #expect(zip(found, red).allSatisfy { abs(Int($0) - Int($1)) <= 1 }, "\(found)")
    }

    // MARK: Decoding at a part of the size

    private func decoding(_ file: String, _ spec: ImageTensorSpec) throws -> [String: PreprocessingValue] {
        let pipeline = try ImagePipeline(spec: spec)
        let report = try Fixtures.bytes(file).withUnsafeBytes { try pipeline.explain($0) }
        return try #require(report.steps.first { $0.operation == "decode" }).parameters
    }

    /// The picture has 900 x 600 pixels. An eighth of it has just one and a half times the pixels of 75 x 50 along each
    /// axis; chroma with fewer samples along one axis needs as many times more.
    @Test(
        "a JPEG is decoded at a reduced scale only where width, height and chroma keep enough pixels",
        arguments: [
            ("large-420.jpg", 75, 50, "1/8"), ("large-444.jpg", 75, 50, "1/8"), ("large-420.jpg", 76, 50, "2/8"),
            ("large-420.jpg", 75, 51, "2/8"), ("large-420.jpg", 8, 600, "8/8"), ("large-420.jpg", 900, 8, "8/8"),
            ("large-420.jpg", 300, 200, "4/8"), ("large-420.jpg", 301, 200, "8/8"), ("large-422.jpg", 75, 50, "2/8"),
            ("large-440.jpg", 75, 50, "2/8"), ("large-411.jpg", 75, 50, "4/8"),
        ])
    func bothSidesNeedTheirPixels(_ file: String, _ width: Int, _ height: Int, _ scale: String) throws {
        let parameters = try decoding(
            file, ImageTensorSpec(width: width, height: height, cropAndScale: .scaleFill, decodeMargin: 1.5))
        #expect(parameters["scale"] == .text(scale), "\(parameters)")
    }

    /// Both pictures have the same stored pixels; one has a mirrored orientation. 900 is not a multiple of 8, so an
    /// eighth of it has a fraction of a pixel.
    @Test("a JPEG decoded at 1/8 size with a mirrored orientation gives the mirrored tensor", arguments: [1.2, 1.9])
    func mirroredPicturesAreMirrored(margin: Double) throws {
        let (width, height) = margin < 1.5 ? (90, 60) : (33, 22)
        let picture = try Fixtures.bytes("large-420.jpg")
        let spec = ImageTensorSpec(width: width, height: height, cropAndScale: .scaleFill, decodeMargin: margin)
        let pipeline = try ImagePipeline(spec: spec)
        func tensor(_ orientation: UInt8) throws -> [UInt8] {
            let tiff: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]
            let segment = Array("Exif\0\0".utf8) + tiff + [0, 0, 0, 0]
            let turned = picture[..<2] + [0xFF, 0xE1, 0, UInt8(segment.count + 2)] + segment + picture[2...]
            #expect(try ImagePipeline.probe(Array(turned)).orientation == Int(orientation))
            let report = try Array(turned).withUnsafeBytes { try pipeline.explain($0) }
            #expect(report.steps.first?.parameters["scale"] == "1/8")
            return try pipeline.tensor(Array(turned))
        }
        func pixel(_ tensor: [UInt8], _ x: Int, _ y: Int) -> ArraySlice<UInt8> {
            tensor[(y * width + x) * 3..<(y * width + x) * 3 + 3]
        }
        let upright = try tensor(1)
        for (orientation, flipsX, flipsY) in [(UInt8(2), true, false), (3, true, true), (4, false, true)] {
            let mirrored = try tensor(orientation)
            var different = 0
            for y in 0..<height {
                for x in 0..<width {
                    let expected = pixel(upright, flipsX ? width - 1 - x : x, flipsY ? height - 1 - y : y)
                    if !pixel(mirrored, x, y).elementsEqual(expected) { different += 1 }
                }
            }
            #expect(different == 0, "orientation \(orientation)")
        }
    }

    // MARK: Values

    /// The margin has the requested colour, in the tensor's order and range.
    @Test("padding has the fill colour in the tensor's channel order and value range", arguments: TensorFormTests.forms)
    func whatIsLeftFreeIsFilled(_ form: ImageTensorSpec) throws {
        var spec = form
        spec.cropAndScale = .scaleFit
        spec.fill = RGBColor(red: 10, green: 20, blue: 30)
        let tensor = try ImagePipeline(spec: spec).tensor(Fixtures.bytes("tall.png"))
        let pixels = spec.width * spec.height
        for (channel, level) in [Float(10), 20, 30].enumerated() {
            let position = spec.channelOrder == .bgr ? 2 - channel : channel
            for pixel in [0, pixels - 1] {
                let index = spec.layout == .nchw ? position * pixels + pixel : pixel * 3 + position
                let expected = level * spec.scale[channel] + spec.bias[channel]
                #expect(tensor.withUnsafeBytes { TensorFormTests.element(spec.element, $0, index, expected) })
            }
        }
    }

    @Test("padding of a gray tensor has the luma of the fill colour")
    func grayIsFilledWithTheColoursLuma() throws {
        let spec = ImageTensorSpec(
            width: 21, height: 13, channelOrder: .gray, cropAndScale: .scaleFit,
            fill: RGBColor(red: 200, green: 100, blue: 50))
        // Pillow: Image.new("RGB", (1, 1), (200, 100, 50)).convert("L") is 124.
        #expect(try ImagePipeline(spec: spec).tensor(Fixtures.bytes("tall.png")).first == 124)
    }

    /// The value is (pixel * rescale + offset - mean) / std, divided by std once more.
    @Test("normalization adds its offset, and divides by std twice where the option says so")
    func normalizationOffsetAndSecondDivision() throws {
        var spec = ImageTensorSpec(width: 2, height: 1, channelOrder: .gray, element: .float32)
        let picture = try [UInt8]([0, 255]).withUnsafeBytes {
            try PixelReconstruction(width: 2, height: 1, channelOrder: .gray).png($0)
        }
        func values(_ normalization: PixelNormalization) throws -> [Float] {
            spec.normalization = normalization
            return try ImagePipeline(spec: spec).tensor(picture).withUnsafeBytes { bytes in
                (0..<2).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            }
        }
        #expect(try values(PixelNormalization(mean: [0.5], std: [0.25])) == [-2, 2])
        #expect(try values(PixelNormalization(rescale: 1 / 127.5, offset: -1, mean: [0], std: [0.5])) == [-2, 2])
        let twice = PixelNormalization(offset: 1, mean: [0.5], std: [0.25], dividesTwice: true)
        #expect(try values(twice) == [8, 24])
        #expect(twice.linear.scale == [Float(16.0 / 255)] && twice.linear.bias == [8])
    }

    @Test("a side, decode margin, exact size or std outside its bounds makes a specification invalid")
    func specification_outsideItsBounds_isRefused() throws {
        _ = try ImagePipeline(spec: ImageTensorSpec(width: 1, height: 16_384, decodeMargin: 1))
        #expect(throws: ImageError.self) { try ImagePipeline(spec: ImageTensorSpec(width: 1, height: 16_385)) }
        #expect(throws: ImageError.self) {
            try ImagePipeline(spec: ImageTensorSpec(width: 1, height: 1, decodeMargin: 0.99))
        }
        #expect(throws: ImageError.self) {
            try ImagePipeline(spec: ImageTensorSpec(width: 1, height: 1, decodeMargin: .nan))
        }
        var spec = ImageTensorSpec(width: 1, height: 1)
        spec.resizeExactly = ImageSize(width: 1, height: 0)
        #expect(throws: ImageError.self) { try ImagePipeline(spec: spec) }
        spec.resizeExactly = nil
        spec.normalization = PixelNormalization(mean: [0, 0, 0], std: [1, 0, 1])
        #expect(throws: ImageError.self) { try ImagePipeline(spec: spec) }
    }

    @Test("larger pictures may have fewer JPEG scans, and no picture more than the configured maximum")
    func scansByTheSizeOfThePicture() {
        let limits = ImageLimits(maxPixels: 1_000_000, maxScans: 100)
        #expect(limits.scans(ofPixels: 1_000_000) == 20)
        #expect(limits.scans(ofPixels: 400_000) == 50)
        #expect(limits.scans(ofPixels: 1) == 100)
        #expect(limits.scans(ofPixels: 0) == 100)
        #expect(ImageLimits(maxPixels: .max, maxScans: 7).scans(ofPixels: 1) == 7)
    }
}

extension Double {
    fileprivate func rounded(toPlaces places: Int) -> Double {
        let factor = (0..<places).reduce(1.0) { product, _ in product * 10 }
        return (self * factor).rounded() / factor
    }
}

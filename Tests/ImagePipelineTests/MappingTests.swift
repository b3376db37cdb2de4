import ImagePipeline
import TestSupport
import Testing

/// Coordinates of a tensor and of the displayed picture.
@Suite struct MappingTests {
    @Test("scale and offset of a letterboxed picture equal those of Ultralytics")
    func aLetterboxIsUltralytics() {
        var spec = ImageTensorSpec(width: 320, height: 320, cropAndScale: .scaleFit)
        spec.centering = .floor
        // 512 x 430: the ratio is 0.625, 268.75 rows become 269, and 25.5 - 0.1 of the free rows are above.
        let mapping = PictureMapping(width: 512, height: 430, spec: spec)
        #expect(mapping.x.forward(512) == 320 && mapping.x.offset == 0)
        #expect(mapping.y.offset == 25 && mapping.y.forward(430) == 294)
        #expect(mapping.y.inverse(25) == 0 && abs(mapping.y.inverse(294) - 430) < 1e-9)
        spec.alignment = .topLeft
        #expect(PictureMapping(width: 512, height: 430, spec: spec).y.offset == 0)
    }

    @Test("the origin of a cropped picture maps to negative tensor coordinates")
    func aCropBeginsBeforeTheTensor() {
        // torchvision: 300 x 200 to 384 x 256, then 224 x 224 from (80, 16).
        let mapping = PictureMapping(
            width: 300, height: 200, spec: ImageTensorSpec(width: 224, height: 224, resizeShorterSide: 256))
        #expect(mapping.x.forward(0) == -80 && mapping.y.forward(0) == -16)
        #expect(mapping.x.inverse(0) == 62.5)
    }

    @Test("the mapping uses the displayed size, or the stored size if the orientation is ignored")
    func thePictureIsTheDisplayedOne() {
        let info = ImageInfo(format: .jpeg, width: 430, height: 512, orientation: 6)
        var spec = ImageTensorSpec(width: 320, height: 320, cropAndScale: .scaleFit)
        spec.centering = .floor
        #expect(
            PictureMapping(info, spec: spec) == PictureMapping(width: 512, height: 430, spec: spec))
        let stored = PictureMapping(info, spec: spec, options: ImageDecodeOptions(orientation: .ignore))
        #expect(stored == PictureMapping(width: 430, height: 512, spec: spec))
    }

    @Test("a bright pixel appears in the tensor at the mapped position, for most of 40 random specs")
    func theMappingIsWhereThePixelsGo() throws {
        let seeds: ClosedRange<UInt64> = 1...40
        let checked = try seeds.filter { try checksAMark($0) }
        #expect(checked.count >= 30, "only \(checked)")
    }

    /// Searches a marked pixel in the tensor at the mapped position; false if every pixel is too near to an edge.
    private func checksAMark(_ seed: UInt64) throws -> Bool {
        var random = SplitMix(seed: seed)
        var spec = ImageTensorSpec(
            width: Int.random(in: 20...60, using: &random), height: Int.random(in: 20...60, using: &random),
            channelOrder: .gray, resampler: .bilinear, fill: .black)
        spec.cropAndScale = CropAndScale.allCases.randomElement(using: &random) ?? .scaleFit
        spec.centering = Centering.allCases.randomElement(using: &random) ?? .floor
        spec.alignment = FitAlignment.allCases.randomElement(using: &random) ?? .center
        if Bool.random(using: &random) { spec.resizeShorterSide = Int.random(in: 15...70, using: &random) }
        let (width, height) = (Int.random(in: 8...30, using: &random), Int.random(in: 8...30, using: &random))
        let mapping = PictureMapping(width: width, height: height, spec: spec)
        // A mark near an edge is smeared or cut off. Only in the middle does its sum give its position.
        let reach = 2 * max(mapping.x.scale, mapping.y.scale) + 2
        func middle(_ axis: PictureMapping.Axis, _ length: Int, of size: Int) -> [Int] {
            (0..<length).filter { index in
                let place = axis.forward(Double(index) + 0.5)
                return index > 1 && index < length - 2 && place > reach && place < Double(size) - reach
            }
        }
        guard let markX = middle(mapping.x, width, of: spec.width).randomElement(using: &random),
            let markY = middle(mapping.y, height, of: spec.height).randomElement(using: &random)
        else { return false }
        var pixels = [UInt8](repeating: 0, count: width * height)
        pixels[markY * width + markX] = 255
        let picture = try pixels.withUnsafeBytes {
            try PixelReconstruction(width: width, height: height, channelOrder: .gray).png($0)
        }
        let tensor = try ImagePipeline(spec: spec).tensor(picture)
        var (sum, x, y) = (0.0, 0.0, 0.0)
        for (index, level) in tensor.enumerated() {
            sum += Double(level)
            x += Double(level) * (Double(index % spec.width) + 0.5)
            y += Double(level) * (Double(index / spec.width) + 0.5)
        }
        let (expectedX, expectedY) = (
            mapping.x.forward(Double(markX) + 0.5), mapping.y.forward(Double(markY) + 0.5)
        )
        #expect(abs(x / sum - expectedX) < 0.5 && abs(y / sum - expectedY) < 0.5, "seed \(seed)")
        #expect(abs(mapping.x.inverse(expectedX) - Double(markX) - 0.5) < 1e-9, "seed \(seed)")
        return true
    }

    @Test("normalized values equal NumPy's float32 results bit for bit")
    func normalizationIsNumPys() throws {
        // (numpy.float32(numpy.float64(level) * (1 / 255)) - float32(0.485)) / float32(0.229), for levels 1, 77 and
        // 200.
        var spec = ImageTensorSpec(width: 3, height: 1, channelOrder: .gray, element: .float32)
        spec.normalization = PixelNormalization(mean: [0.485], std: [0.229])
        let picture = try [UInt8]([1, 77, 200]).withUnsafeBytes {
            try PixelReconstruction(width: 3, height: 1, channelOrder: .gray).png($0)
        }
        let tensor = try ImagePipeline(spec: spec).tensor(picture)
        let values = tensor.withUnsafeBytes { bytes in
            (0..<3).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) }
        }
        #expect(values == [0xc006732b, 0xbf4c9ec9, 0x3fa74d4f])
    }
}

import ImagePipeline
import TestSupport
import Testing

/// Compares parts of pictures and alignments with Pillow, scikit-image and NumPy
/// (Tests/FixtureMakers/make-crop-goldens).
@Suite struct CropTests {
    private static func pixels(_ name: String) throws -> PixelImage {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 1, height: 1))
        return try Fixtures.bytes(name).withUnsafeBytes { try pipeline.pixels($0) }
    }

    private static func tensor(
        of image: PixelImage, _ spec: ImageTensorSpec, _ options: ImageDecodeOptions = ImageDecodeOptions(),
        window: PictureWindow? = nil
    ) throws -> [UInt8] {
        var tensor = [UInt8](repeating: 0xA5, count: spec.byteCount)
        let pipeline = try ImagePipeline(spec: spec)
        _ = try tensor.withUnsafeMutableBytes {
            try pipeline.prepare(image, window: window, into: $0, options: options)
        }
        return tensor
    }

    @Test("there are at least 60 reference crops and alignments, each with a whole expected tensor")
    func goldens_ofCrops_areThereAndWhole() {
        #expect(GoldenCase.cropped.count >= 60)
        #expect(GoldenCase.cropped.allSatisfy { $0.expected.count == $0.spec.byteCount })
        #expect(GoldenCase.cropped.allSatisfy { $0.box.count == 4 || $0.points.count == 10 })
    }

    @Test(
        "a crop or face alignment differs from the reference by at most the levels its case allows",
        arguments: GoldenCase.cropped)
    func part_orAlignment_isWithinOneLevelOfTheReference(_ golden: GoldenCase) throws {
        let image = try Self.pixels(golden.file)
        var got: [UInt8]
        if golden.box.count == 4 {
            let box = PictureBox(x: golden.box[0], y: golden.box[1], width: golden.box[2], height: golden.box[3])
            got = try Self.tensor(
                of: image, golden.spec, golden.options, window: PictureWindow(box, maxPixels: 1_000_000))
        } else {
            let points = (0..<5).map { PicturePoint(x: golden.points[2 * $0], y: golden.points[2 * $0 + 1]) }
            let scale = Double(golden.spec.width) / 112
            let template = SimilarityTransform.fivePoints.map { PicturePoint(x: $0.x * scale, y: $0.y * scale) }
            let transform = try #require(SimilarityTransform(from: points, to: template))
            let face = try image.aligned(
                by: transform, width: golden.spec.width, height: golden.spec.height, maxPixels: 1_000_000)
            got = try Self.tensor(of: face, golden.spec)
        }
        let largest = zip(got, golden.expected).map { abs(Int($0) - Int($1)) }.max()
        #expect(largest ?? .max <= golden.maximum)
    }

    @Test("a tensor made from decoded pixels equals the tensor of the file within one level", arguments: Fixtures.names)
    func wholePicture_fromPixels_isTheSameTensor(_ name: String) throws {
        for order in [ChannelOrder.rgb, .gray] {
            let spec = ImageTensorSpec(width: 24, height: 18, channelOrder: order, background: .white)
            let options = ImageDecodeOptions(fullDecode: true)
            let expected = try ImagePipeline(spec: spec).tensor(Fixtures.bytes(name), options: options)
            let image = try Self.pixels(name)
            #expect(image.info.orientation == 1)
            let got = try Self.tensor(of: image, spec)
            // The order of the passes follows the stored picture, which changes results by at most a level.
            let largest = zip(got, expected).map { abs(Int($0) - Int($1)) }.max()
            #expect(largest ?? .max <= 1, "\(name), \(order)")
        }
    }

    @Test("a box without area, with NaN or infinity, or with too many pixels is refused")
    func box_withoutMeaning_isRefused() throws {
        let nan = Double.nan, far = 1e300
        for box in [
            PictureBox(x: 1, y: 1, width: 0, height: 4), PictureBox(x: 1, y: 1, width: -3, height: 4),
            PictureBox(x: nan, y: 1, width: 3, height: 4), PictureBox(x: 1, y: 1, width: nan, height: 4),
            PictureBox(x: 1, y: -far, width: 3, height: 4), PictureBox(x: 1, y: 1, width: .infinity, height: 4),
        ] {
            #expect(throws: ImageError.corrupt("the box to be cut out has no area")) {
                try PictureWindow(box, maxPixels: 1_000)
            }
        }
        #expect(throws: ImageError.tooLarge(pixels: 1_024, limit: 1_000, width: 32, height: 32)) {
            try PictureWindow(PictureBox(x: -0.5, y: 0, width: 31, height: 32), maxPixels: 1_000)
        }
        #expect(throws: ImageError.self) {
            try PictureWindow(PictureBox(x: -1e9, y: -1e9, width: 2e9, height: 2e9), maxPixels: .max)
        }
    }

    @Test("pixels outside the picture or outside the runs of a mask are black")
    func pixels_outsideThePictureOrTheMask_areBlack() throws {
        let image = try Self.pixels("scene.png"), size = image.info
        let spec = ImageTensorSpec(width: 4, height: 4, cropAndScale: .scaleFill)
        for (x, y) in [(-4.0, 0.0), (0, -4), (Double(size.width), 0), (0, Double(size.height)), (-1e6, 1e6)] {
            let window = try PictureWindow(PictureBox(x: x, y: y, width: 4, height: 4), maxPixels: 16)
            #expect(try Self.tensor(of: image, spec, window: window).allSatisfy { $0 == 0 }, "\(x), \(y)")
        }
        let all = try Self.tensor(
            of: image, spec, window: PictureWindow(PictureBox(x: 2, y: 3, width: 4, height: 4), maxPixels: 16))
        let masked = try image.masked(x: 2..<6, y: 3..<7) { run in
            run(0, 0..<100)
            run(3, 0..<5)
            run(5, 6..<100)
        }
        let kept = try Self.tensor(of: masked, spec)
        for (place, value) in kept.enumerated() {
            let (column, row) = (place / 3 % 4 + 2, place / 12 + 3)
            let isIn = column == 3 && row < 5 || column == 5 && row >= 6
            #expect(value == (isIn ? all[place] : 0), "\(column), \(row)")
        }
        #expect(throws: ImageError.self) { try image.masked(x: 0..<size.width + 1, y: 0..<1) { _ in } }
        #expect(throws: ImageError.self) { try image.masked(x: 1..<1, y: 0..<1) { _ in } }
    }

    @Test("a box grown by a margin extends by that fraction on every side; a square takes the longer side")
    func grown_byAMargin_movesEachSideOutwards() {
        let box = PictureBox(x: 10, y: 20, width: 40, height: 10)
        #expect(box.grown(by: 0.2) == PictureBox(x: 2, y: 18, width: 56, height: 14))
        #expect(box.grown(by: 0, isSquare: true) == PictureBox(x: 10, y: 5, width: 40, height: 40))
        #expect(box.grown(by: 0.5, isSquare: true) == PictureBox(x: -10, y: -15, width: 80, height: 80))
    }

    @Test("points that coincide, are too few or are not numbers give no similarity transform")
    func transform_ofPointsWithoutMeaning_isNil() {
        let same = Array(repeating: PicturePoint(x: 3, y: 3), count: 5)
        let points = SimilarityTransform.fivePoints
        #expect(SimilarityTransform(from: same, to: points) == nil)
        #expect(SimilarityTransform(from: points, to: same) == nil)
        #expect(SimilarityTransform(from: points, to: Array(points.dropLast())) == nil)
        #expect(SimilarityTransform(from: [points[0]], to: [points[0]]) == nil)
        #expect(SimilarityTransform(from: points, to: [PicturePoint(x: .nan, y: 0)] + points.dropFirst()) == nil)
    }

    @Test("the corners of a cropped part's tensor map back to the part's corners in the picture")
    func mapping_ofAPart_goesThroughItsCorners() {
        let spec = ImageTensorSpec(width: 20, height: 10, cropAndScale: .scaleFill)
        var options = ImageDecodeOptions()
        options.part = PictureBox(x: 4, y: 6, width: 8, height: 5)
        let info = ImageInfo(format: .png, width: 40, height: 30, orientation: 1)
        let mapping = PictureMapping(info, spec: spec, options: options)
        #expect(mapping.x.inverse(0) == 4 && mapping.x.inverse(20) == 12)
        #expect(mapping.y.inverse(0) == 6 && mapping.y.inverse(10) == 11)
    }
}

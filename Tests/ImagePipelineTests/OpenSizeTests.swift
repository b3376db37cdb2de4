import Foundation
import ImagePipeline
import TestSupport
import Testing

/// Tests of tensors of open size.
@Suite struct OpenSizeTests {
    private static func spec(_ size: OpenSize, _ mode: CropAndScale) -> ImageTensorSpec {
        var spec = ImageTensorSpec(width: size.maximum.width, height: size.maximum.height, cropAndScale: mode)
        spec.openSize = size
        return spec
    }

    private static func size(
        _ minimum: Int, _ maximum: Int, _ multiple: Int
    ) -> OpenSize {
        func both(_ side: Int) -> ImageSize { ImageSize(width: side, height: side) }
        return OpenSize(minimum: both(minimum), maximum: both(maximum), multiple: both(multiple))
    }

    private static func info(_ width: Int, _ height: Int, _ orientation: Int = 1) -> ImageInfo {
        ImageInfo(format: .png, width: width, height: height, orientation: orientation)
    }

    /// The expected values were computed by hand: limits scale both sides by one factor; then comes the next multiple,
    /// the nearest, or the one below.
    @Test(
        "a tensor of open size takes the picture's size within the limits, rounded to a multiple",
        arguments: [
            (20, 30, CropAndScale.scaleFit, 24, 32), (20, 30, .scaleFill, 24, 32), (20, 30, .centerCrop, 16, 24),
            (8, 32, .scaleFit, 8, 32), (19, 19, .scaleFill, 16, 16), (19, 19, .scaleFit, 24, 24),
            (64, 32, .scaleFit, 32, 16),
            (100, 50, .centerCrop, 32, 16), (4, 4, .scaleFit, 8, 8), (4, 8, .scaleFit, 8, 16),
            (2, 4, .centerCrop, 8, 16),
            (8_000, 1, .scaleFit, 32, 8), (1, 8_000, .centerCrop, 8, 32), (65_535, 65_535, .scaleFill, 32, 32),
            (1, 1, .centerCrop, 8, 8),
        ])
    func aPictureKeepsItsSizeWithinTheLimits(_ one: (width: Int, height: Int, mode: CropAndScale, x: Int, y: Int)) {
        let resolved = Self.spec(Self.size(8, 32, 8), one.mode).resolved(for: Self.info(one.width, one.height))
        #expect(resolved.width == one.x && resolved.height == one.y, "\(resolved.width) x \(resolved.height)")
        // A picture that is displayed rotated.
        let turned = Self.spec(Self.size(8, 32, 8), one.mode).resolved(for: Self.info(one.height, one.width, 6))
        #expect(turned.width == one.x && turned.height == one.y)
    }

    /// Width and height of a picture and of the tensor, by RapidOCR 3.10.0 (`DetPreProcess(736, "min")`).
    @Test(
        "a text detector's tensor has the reference's size",
        arguments: [
            (640, 480, 992, 736), (1_280, 720, 1_312, 736), (1_984, 1_344, 1_984, 1_344), (720, 1_280, 736, 1_312),
            (100, 100, 736, 736), (480, 120, 2_944, 736), (1_984, 496, 2_944, 736), (1_984, 992, 1_984, 992),
        ])
    func theShorterSide(_ width: Int, _ height: Int, _ x: Int, _ y: Int) {
        var size = Self.size(32, 16_384, 32)
        size.rule = .shorterSide(736)
        size.maximumPixels = 4 << 20
        let resolved = Self.spec(size, .scaleFill).resolved(for: Self.info(width, height))
        #expect(resolved.width == x && resolved.height == y, "\(resolved.width) x \(resolved.height)")
    }

    @Test("a text detector's tensor has at most its maximum of pixels, whatever the picture")
    func theTensorIsBounded() {
        let seed = SplitMix.seed(for: "theTensorIsBounded")
        var random = SplitMix(seed: seed)
        for rule in [OpenSize.Rule.shorterSide(736), .shorterSide(4_096), .longerSide(960)] {
            var size = Self.size(32, 16_384, 32)
            size.rule = rule
            size.maximumPixels = 1 << 22
            let spec = Self.spec(size, .scaleFill)
            for _ in 0..<5_000 {
                func side() -> Int { Int(pow(2, Double.random(in: 0...16, using: &random))) }
                let (width, height) = (side(), side())
                let resolved = spec.resolved(for: Self.info(width, height))
                #expect(
                    resolved.width * resolved.height <= 1 << 22 && min(resolved.width, resolved.height) >= 32
                        && resolved.width % 32 == 0 && resolved.height % 32 == 0,
                    "\(width) x \(height): \(resolved.width) x \(resolved.height), seed \(seed)")
            }
        }
    }

    /// The widths are `min(W, ceil(48 * width / height))` with W the next multiple of 64 from 320 to 3,200.
    @Test(
        "a line is scaled to the tensor's height, and its tensor is the next multiple wide",
        arguments: [
            (100, 48, 100, 320), (400, 48, 400, 448), (400, 24, 800, 832), (321, 48, 321, 384), (320, 48, 320, 320),
            (10_000, 48, 3_200, 3_200), (1, 480, 1, 320), (7, 5, 68, 320),
        ])
    func aLine(_ width: Int, _ height: Int, _ scaled: Int, _ tensor: Int) {
        var size = OpenSize(
            minimum: ImageSize(width: 320, height: 48), maximum: ImageSize(width: 3_200, height: 48),
            multiple: ImageSize(width: 64, height: 1))
        size.rule = .line
        let resolved = Self.spec(size, .scaleFit).resolved(for: Self.info(width, height))
        #expect(resolved.width == tensor && resolved.height == 48)
        #expect(resolved.resizeExactly == ImageSize(width: scaled, height: 48))
        // The width of a group of lines.
        var options = ImageDecodeOptions()
        options.size = ImageSize(width: 640, height: 48)
        let asked = Self.spec(size, .scaleFit).resolved(for: Self.info(width, height), options: options)
        #expect(asked.width == 640 && asked.resizeExactly?.width == min(scaled, 640))
    }

    /// The widths are ddddocr's `int(width * 64 / height)`, and the rounded ones; multiples of 8 in the last two rows.
    @Test(
        "without a margin a line's width is rounded down or to the nearest multiple",
        arguments: [
            (131, 50, 1, 167, 168), (50, 50, 1, 64, 64), (1, 640, 1, 8, 8), (9_999, 50, 1, 2_000, 2_000),
            (131, 50, 8, 160, 168), (133, 50, 8, 168, 168),
        ])
    func aLineWithoutAMargin(_ width: Int, _ height: Int, _ multiple: Int, _ below: Int, _ nearest: Int) {
        var size = OpenSize(
            minimum: ImageSize(width: 8, height: 64), maximum: ImageSize(width: 2_000, height: 64),
            multiple: ImageSize(width: multiple, height: 1))
        size.rule = .line
        for (mode, expected) in [(CropAndScale.centerCrop, below), (.scaleFill, nearest)] {
            let resolved = Self.spec(size, mode).resolved(for: Self.info(width, height))
            #expect(resolved.width == expected && resolved.height == 64, "\(mode)")
            // A stretched picture is scaled to the tensor.
            let exactly = mode == .scaleFill ? nil : ImageSize(width: expected, height: 64)
            #expect(resolved.resizeExactly == exactly, "\(mode)")
        }
    }

    @Test("random pictures settle on a multiple within the limits, close to their own size")
    func anySizeIsWithinTheLimits() throws {
        let seed = SplitMix.seed(for: "anySizeIsWithinTheLimits")
        var random = SplitMix(seed: seed)
        for _ in 0..<20_000 {
            let multiple = Int.random(in: 1...64, using: &random), first = Int.random(in: 1...200, using: &random)
            let size = Self.size(first, Int.random(in: first...1_500, using: &random), multiple)
            let mode = CropAndScale.allCases.randomElement(using: &random) ?? .scaleFit
            let spec = Self.spec(size, mode)
            guard size.problem == nil else {
                #expect(throws: ImageError.self) { try ImagePipeline(spec: spec) }
                continue
            }
            func side() -> Int { Int(pow(2, Double.random(in: 0...16, using: &random))) }
            let (width, height) = (side(), side())
            let resolved = try ImagePipeline(spec: spec).resolved(for: Self.info(width, height)).spec
            for (one, picture) in [(resolved.width, width), (resolved.height, height)] {
                #expect(
                    one % multiple == 0 && one >= first && one <= size.maximum.width, "\(size), \(width) x \(height)")
                // Sides are not scaled unnecessarily.
                let isInside = [width, height].allSatisfy {
                    $0 >= first + multiple && $0 <= size.maximum.width - multiple
                }
                if isInside { #expect(abs(one - picture) < multiple) }
            }
            // All of the picture fits, except the part that is cut.
            let map = PictureMapping(width: width, height: height, spec: resolved)
            if mode != .centerCrop {
                #expect(map.x.forward(0) > -0.001 && map.x.forward(Double(width)) < Double(resolved.width) + 0.001)
            }
        }
    }

    @Test("open-size limits that allow no size are refused")
    func limitsThatLeaveNothing_areRefused() {
        for (first, last, multiple) in [(33, 63, 32), (0, 8, 1), (9, 8, 1), (1, 8, 0), (1, 7, 8), (1, 1 << 40, 1)] {
            let problem = Self.size(first, last, multiple).problem
            #expect(problem?.contains("[\(multiple), \(multiple)]") == true, "\(first), \(last), \(multiple)")
        }
        #expect(Self.size(33, 64, 32).problem == nil)
        #expect(Self.size(8, 32, 8).description == "8 x 8 to 32 x 32, multiples of 8 x 8")
    }
}

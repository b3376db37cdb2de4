import ImagePipeline
import TestSupport
import Testing

/// Compares raw frames with the formulas of ITU-R BT.601 and BT.709 in double precision, with the pixels of files, and
/// with the shared seeds.
@Suite struct RawFrameTests {
    typealias Format = RawFrame.Format

    /// A frame of random bytes, and red, green and blue of a pixel by the formulas.
    private struct Sample {
        let frame: RawFrame
        let bytes: [UInt8]

        init(
            _ format: Format, width: Int, height: Int, stride: Int?, colorimetry: RawFrame.Colorimetry = .bt601,
            seed: UInt64
        ) throws {
            frame = try RawFrame(format, width: width, height: height, stride: stride, colorimetry: colorimetry)
            var random = SplitMix(seed: seed)
            bytes = (0..<frame.byteCounts.lowerBound).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }

        /// Where each format has red, green, blue and opacity, by GStreamer's documentation.
        private static let places: [Format: [Int]] = [
            .rgb: [0, 1, 2], .bgr: [2, 1, 0], .rgba: [0, 1, 2, 3], .bgra: [2, 1, 0, 3], .argb: [1, 2, 3, 0],
            .rgbx: [0, 1, 2], .bgrx: [2, 1, 0], .gray8: [0, 0, 0],
        ]

        /// The number of bytes of a pixel, without the planes of chroma.
        private var step: Int {
            [.rgb, .bgr].contains(frame.format) ? 3 : Self.places[frame.format] == [0, 0, 0] ? 1 : 4
        }

        /// The colour of a pixel over white.
        func color(_ x: Int, _ y: Int) -> [Double] {
            if let places = Self.places[frame.format] {
                let pixel = bytes[(y * frame.stride + x * step)...]
                func level(_ place: Int) -> Double { Double(pixel[pixel.startIndex + place]) }
                guard places.count == 4 else { return places.map(level) }
                let opacity = level(places[3]) / 255
                return places.prefix(3).map { level($0) * opacity + 255 * (1 - opacity) }
            }
            let columns = (frame.width + 1) / 2, rows = (frame.height + 1) / 2, isPlanar = frame.format == .i420
            let isTight = frame.stride == frame.width
            let chromaStride =
                isPlanar ? (isTight ? columns : (frame.stride + 1) / 2) : isTight ? 2 * columns : frame.stride
            let plane = frame.stride * frame.height + y / 2 * chromaStride
            let blue = isPlanar ? bytes[plane + x / 2] : bytes[plane + x / 2 * 2]
            let red = isPlanar ? bytes[plane + chromaStride * rows + x / 2] : bytes[plane + x / 2 * 2 + 1]
            let luma = 255.0 / 219 * (Double(bytes[y * frame.stride + x]) - 16)
            let (kr, kb) = frame.colorimetry == .bt601 ? (0.299, 0.114) : (0.2126, 0.0722)
            let r = luma + 2 * (1 - kr) * 255 / 224 * (Double(red) - 128)
            let b = luma + 2 * (1 - kb) * 255 / 224 * (Double(blue) - 128)
            let g = (luma - kr * r - kb * b) / (1 - kr - kb)
            return [r, g, b].map { min(max($0, 0), 255) }
        }

        func tensor(_ spec: ImageTensorSpec, _ options: ImageDecodeOptions = ImageDecodeOptions()) throws -> [UInt8] {
            try ImagePipeline(spec: spec).tensor(bytes, frame: frame, options: options)
        }
    }

    static let sizes =
        [(16, 12, nil), (7, 5, nil), (1, 1, nil), (2, 3, nil), (33, 9, 160), (35, 18, 141), (70, 3, nil)]
        as [(Int, Int, Int?)]

    @Test("each format is within a level of the formulas, for odd sizes and strides", arguments: Format.allCases, sizes)
    func formats(_ format: Format, _ size: (width: Int, height: Int, stride: Int?)) throws {
        for colorimetry in RawFrame.Colorimetry.allCases {
            let sample = try Sample(
                format, width: size.width, height: size.height, stride: size.stride, colorimetry: colorimetry, seed: 7)
            let found = try sample.tensor(ImageTensorSpec(width: size.width, height: size.height))
            var largest = 0.0
            for y in 0..<size.height {
                for x in 0..<size.width {
                    for (channel, level) in sample.color(x, y).enumerated() {
                        largest = max(largest, abs(Double(found[(y * size.width + x) * 3 + channel]) - level))
                    }
                }
            }
            #expect(largest <= 1, "\(colorimetry)")
        }
    }

    /// A crop that begins at an odd column and row begins within the pixels that share a sample of chroma.
    @Test("a crop of a frame has the pixels of the whole, from odd columns and rows too", arguments: Format.allCases)
    func crops(_ format: Format) throws {
        let sample = try Sample(format, width: 37, height: 23, stride: 152, seed: 3)
        let whole = try sample.tensor(ImageTensorSpec(width: 37, height: 23))
        for (width, height) in [(35, 21), (31, 5), (4, 17), (1, 1), (36, 22)] {
            var spec = ImageTensorSpec(width: width, height: height)
            spec.keepsSize = true
            let (left, top) = (
                Int((Double(37 - width) / 2).rounded(.toNearestOrEven)),
                Int((Double(23 - height) / 2).rounded(.toNearestOrEven))
            )
            var expected: [UInt8] = []
            for y in top..<top + height { expected += whole[(y * 37 + left) * 3..<(y * 37 + left + width) * 3] }
            #expect(try sample.tensor(spec) == expected, "\(width) x \(height)")
        }
    }

    static let specs = [
        ImageTensorSpec(width: 20, height: 16),
        ImageTensorSpec(width: 9, height: 50, layout: .nchw, cropAndScale: .scaleFit, resampler: .bicubic),
        ImageTensorSpec(width: 64, height: 64, channelOrder: .gray, cropAndScale: .scaleFill),
        ImageTensorSpec(width: 24, height: 20, channelOrder: .bgr, element: .float32, resizeShorterSide: 26),
        ImageTensorSpec(width: 41, height: 60),
    ]

    @Test("a frame of a picture's pixels gives the picture's tensor, in each orientation", arguments: specs)
    func pixelsOfAFile(_ spec: ImageTensorSpec) throws {
        let file = try Fixtures.bytes("orientation-6.png"), info = try ImagePipeline.probe(file)
        let pixels = try ImagePipeline(spec: ImageTensorSpec(width: info.width, height: info.height)).tensor(
            file, options: ImageDecodeOptions(orientation: .ignore))
        let pipeline = try ImagePipeline(spec: spec)
        for format in [Format.rgb, .bgr, .rgbx, .bgrx, .rgba, .bgra, .argb] {
            var bytes: [UInt8] = []
            for pixel in 0..<info.width * info.height {
                let (red, green, blue) = (pixels[pixel * 3], pixels[pixel * 3 + 1], pixels[pixel * 3 + 2])
                switch format {
                case .rgb: bytes += [red, green, blue]
                case .bgr: bytes += [blue, green, red]
                // The fourth byte is not read.
                case .rgbx: bytes += [red, green, blue, UInt8(pixel % 256)]
                case .bgrx: bytes += [blue, green, red, UInt8(pixel % 256)]
                case .rgba: bytes += [red, green, blue, 255]
                case .bgra: bytes += [blue, green, red, 255]
                default: bytes += [255, red, green, blue]
                }
            }
            let frame = try RawFrame(format, width: info.width, height: info.height)
            for exif in 1...8 {
                let options = ImageDecodeOptions(orientation: try #require(ImageOrientation(exif: exif)))
                let expected = try pipeline.tensor(file, options: options)
                #expect(try pipeline.tensor(bytes, frame: frame, options: options) == expected, "\(format) \(exif)")
            }
        }
    }

    @Test("opacity is composed with the background, as that of decoded pixels", arguments: [Format.rgba, .bgra, .argb])
    func opacity(_ format: Format) throws {
        let sample = try Sample(format, width: 19, height: 11, stride: nil, seed: 5)
        var pixels: [UInt8] = []
        for pixel in 0..<19 * 11 {
            let bytes = sample.bytes[pixel * 4..<pixel * 4 + 4].map { $0 }
            switch format {
            case .rgba: pixels += bytes
            case .bgra: pixels += [bytes[2], bytes[1], bytes[0], bytes[3]]
            default: pixels += [bytes[1], bytes[2], bytes[3], bytes[0]]
            }
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: pixels.count, alignment: 16)
        memory.copyBytes(from: pixels)
        let image = try PixelImage(
            info: ImageInfo(format: .png, width: 19, height: 11, orientation: 1), hasAlpha: true,
            memory: UnsafeRawBufferPointer(memory)
        ) { $0.deallocate() }
        for order in [ChannelOrder.rgb, .gray] {
            let spec = ImageTensorSpec(
                width: 10, height: 8, channelOrder: order, background: RGBColor(red: 20, green: 130, blue: 240))
            var expected = [UInt8](repeating: 0, count: spec.byteCount)
            let pipeline = try ImagePipeline(spec: spec)
            _ = try expected.withUnsafeMutableBytes { try pipeline.prepare(image, into: $0) }
            #expect(try sample.tensor(spec) == expected)
        }
        // Kept where all pixels are.
        let kept = try sample.bytes.withUnsafeBytes { try pipeline.pixels($0, frame: sample.frame) }
        #expect(try kept.flattened(over: .black) == image.flattened(over: .black))
    }

    private var pipeline: ImagePipeline { get throws { try ImagePipeline(spec: ImageTensorSpec(width: 4, height: 4)) } }

    // MARK: Sizes

    @Test("a frame may end after the last pixel of its last row, and has no other length")
    func lengths() throws {
        for (frame, least, most) in [
            (try RawFrame(.bgra, width: 7, height: 5), 140, 140),
            (try RawFrame(.bgra, width: 7, height: 5, stride: 32), 156, 160),
            (try RawFrame(.rgb, width: 7, height: 5, stride: 24), 117, 120),
            (try RawFrame(.nv12, width: 7, height: 5), 35 + 3 * 8, 35 + 3 * 8),
            (try RawFrame(.nv12, width: 7, height: 5, stride: 16), 80 + 40, 80 + 48),
            (try RawFrame(.i420, width: 7, height: 5), 35 + 6 * 4, 35 + 6 * 4),
            (try RawFrame(.i420, width: 7, height: 5, stride: 17), 85 + 5 * 9 + 4, 85 + 6 * 9),
            (try RawFrame(.gray8, width: 3, height: 1, stride: 100), 3, 100),
        ] {
            #expect(frame.byteCounts == least...most, "\(frame)")
            for count in [0, least - 1, most + 1] {
                let error = #expect(throws: ImageError.self) {
                    try pipeline.tensor([UInt8](repeating: 0, count: count), frame: frame)
                }
                #expect(error?.label == "invalid_frame" && error?.message.contains("found \(count)") == true)
                #expect(error?.message.contains("\(least)") == true)
            }
            for count in [least, most] {
                #expect(throws: Never.self) { try pipeline.tensor([UInt8](repeating: 0, count: count), frame: frame) }
            }
        }
    }

    @Test("sides and strides that cannot be are refused before anything is allocated")
    func sizesThatCannotBe() {
        for (width, height, stride) in [(0, 5, nil), (5, -1, nil), (7, 5, 20), (7, 5, -1), (7, 5, 1 << 40)]
            as [(Int, Int, Int?)]
        {
            let error = #expect(throws: ImageError.self) {
                try RawFrame(.rgb, width: width, height: height, stride: stride)
            }
            #expect(error?.label == "invalid_frame", "\(width) x \(height), \(stride ?? 0)")
        }
        // The rows of chroma have a byte more than those of luma.
        #expect(throws: ImageError.self) { try RawFrame(.nv12, width: 7, height: 5, stride: 7) }
        #expect(throws: Never.self) { try RawFrame(.i420, width: 7, height: 5, stride: 7) }
        for side in [65_536, 1 << 31, Int.max] {
            #expect(throws: ImageError.sideTooLong(limit: 65_535, width: side, height: 1)) {
                try RawFrame(.rgb, width: side, height: 1)
            }
        }
    }

    @Test("a frame beyond the limits is refused for its size, whatever its length, and takes no memory")
    func limits() throws {
        let frame = try RawFrame(.rgb, width: 50_000, height: 50_000)
        #expect(throws: ImageError.tooLarge(pixels: 2_500_000_000, limit: 64_000_000, width: 50_000, height: 50_000)) {
            try pipeline.tensor([1, 2, 3], frame: frame)
        }
        #expect(try [1, 2, 3].withUnsafeBytes { try pipeline.demand($0, frame: frame) } == .none)
        var limits = ImageLimits()
        limits.formats = [.jpeg]
        let strict = try ImagePipeline(spec: ImageTensorSpec(width: 4, height: 4), limits: limits)
        #expect(throws: ImageError.turnedOff(.raw)) {
            try strict.tensor([1, 2, 3], frame: RawFrame(.rgb, width: 1, height: 1))
        }
    }

    @Test("decoding a frame stops when it is cancelled")
    func cancellation() throws {
        let sample = try Sample(.nv12, width: 64, height: 48, stride: nil, seed: 1)
        var polls = 0
        #expect(throws: ImageError.cancelled) {
            try pipeline.tensor(sample.bytes, frame: sample.frame) {
                polls += 1
                return polls > 5
            }
        }
        #expect(polls == 6)
    }

    @Test("the steps of a frame tell its layout")
    func steps() throws {
        let frame = try RawFrame(.nv12, width: 4, height: 2, stride: 64, colorimetry: .bt709)
        let bytes = [UInt8](repeating: 16, count: 192)
        let report = try bytes.withUnsafeBytes { try pipeline.explain($0, frame: frame) }
        #expect(report.image == ImageInfo(format: .raw, width: 4, height: 2, orientation: 1))
        let decoding = report.steps.first { $0.operation == "decode" }?.parameters
        #expect(
            decoding?["pixels"] == "NV12" && decoding?["colorimetry"] == "bt709" && decoding?["stride"] == .number(64))
    }

    // MARK: The shared seeds

    @Test(
        "shared frames have the expected pixels",
        .enabled(if: Seeds.areAvailable, Comment(rawValue: SharedData.absence)),
        arguments: Seeds.raw.filter { $0.expected != nil })
    func seeds(_ seed: Seeds.Case) throws {
        // The types themselves are tested with the service.
        let pairs = (seed.type ?? "").split(separator: ";").dropFirst().map {
            $0.split(separator: "=").map(String.init)
        }
        let values = Dictionary(uniqueKeysWithValues: pairs.map { ($0[0], $0[1]) })
        let frame = try RawFrame(
            #require(Format(rawValue: values["format"] ?? "")), width: #require(Int(values["width"] ?? "")),
            height: #require(Int(values["height"] ?? "")), stride: values["stride"].flatMap { Int($0) },
            colorimetry: values["colorimetry"].flatMap { RawFrame.Colorimetry(rawValue: $0) } ?? .bt601)
        let expected = try Seeds.pixels(#require(seed.expected)).flattened(over: .white)
        let found = try ImagePipeline(spec: ImageTensorSpec(width: frame.width, height: frame.height)).tensor(
            Seeds.bytes(#require(seed.file)), frame: frame)
        let largest = zip(found, expected).map { abs(Int($0) - Int($1)) }.max()
        #expect(found.count == expected.count && (largest ?? .max) <= (seed.tolerance ?? 0))
    }
}

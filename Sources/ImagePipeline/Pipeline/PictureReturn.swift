/// Brings the picture that a model made back to the one that was sent: without the margin of the tensor, and at the size that was sent times
/// the model's factor.
public struct PictureReturn: Sendable {
    private let x: PictureMapping.Axis, y: PictureMapping.Axis
    private let tensor: ImageSize
    private let mostPixels: Int

    /// - Parameters:
    ///   - info: the header of the picture that was sent.
    ///   - pipeline: the one that it went through, whose limit of pixels is the answer's, too.
    public init(_ info: ImageInfo, _ pipeline: ImagePipeline, _ options: ImageDecodeOptions) {
        let spec = pipeline.spec.settled(for: info, options: options)
        let mapping = PictureMapping(info, spec: spec, options: options)
        (x, y) = (mapping.x, mapping.y)
        tensor = ImageSize(width: spec.width, height: spec.height)
        mostPixels = pipeline.limits.maxPixels
    }

    /// One side of the picture that a model made.
    struct Side: Equatable {
        /// The pixels that show the picture that was sent.
        var part: Range<Int>
        /// The pixels of the answer.
        var length: Int

        /// - Parameters:
        ///   - axis: from the picture that was sent to the tensor.
        ///   - tensor: pixels of the tensor.
        ///   - made: pixels that the model made of them.
        init(_ axis: PictureMapping.Axis, tensor: Int, made: Int) {
            let factor = Double(made) / Double(max(1, tensor)), most = Double(axis.length)
            let start = min(max(axis.inverse(0), 0), most), end = min(max(axis.inverse(Double(tensor)), start), most)
            length = max(1, Int(((end - start) * factor).rounded()))
            let first = Int((axis.forward(start) * factor).rounded()), last = Int((axis.forward(end) * factor).rounded())
            let lower = min(max(first, 0), max(0, made - 1))
            part = lower..<min(max(last, lower + 1), max(made, lower + 1))
        }
    }

    /// The picture as PNG.
    /// - Parameters:
    ///   - made: the form of the model's picture.
    ///   - raw: the model's picture.
    public func png(_ made: PixelReconstruction, _ raw: UnsafeRawBufferPointer) throws(ImageError) -> [UInt8] {
        let pixels = try made.pixels(raw)
        let x = Side(x, tensor: tensor.width, made: made.width), y = Side(y, tensor: tensor.height, made: made.height)
        let (count, overflow) = x.length.multipliedReportingOverflow(by: y.length)
        guard !overflow, count <= mostPixels else {
            throw .tooLarge(pixels: overflow ? .max : count, limit: mostPixels, width: x.length, height: y.length)
        }
        let channels = made.channelOrder.channels
        let part = Self.rows(x.part, y.part, of: pixels, width: made.width, channels: channels)
        let answer =
            x.part.count == x.length && y.part.count == y.length
            ? part : try Self.scaled(part, x.part.count, y.part.count, to: (x.length, y.length), channels)
        return try Self.lent(answer) { (bytes) throws(ImageError) in
            try PNGEncoder.encode(width: x.length, height: y.length, channels: channels, pixels: bytes)
        }
    }

    private static func rows(
        _ x: Range<Int>, _ y: Range<Int>, of pixels: [UInt8], width: Int, channels: Int
    ) -> [UInt8] {
        guard x.count < width || y.count * width * channels < pixels.count else { return pixels }
        var part: [UInt8] = []
        part.reserveCapacity(x.count * y.count * channels)
        for row in y { part += pixels[(row * width + x.lowerBound) * channels..<(row * width + x.upperBound) * channels] }
        return part
    }

    private static func scaled(
        _ pixels: [UInt8], _ width: Int, _ height: Int, to size: (width: Int, height: Int), _ channels: Int
    ) throws(ImageError) -> [UInt8] {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: width * height * 4, alignment: 16)
        for index in 0..<width * height {
            for channel in 0..<3 { memory[index * 4 + channel] = pixels[index * channels + (channels == 3 ? channel : 0)] }
            memory[index * 4 + 3] = 255
        }
        let info = ImageInfo(format: .png, width: width, height: height, orientation: 1)
        let image = try PixelImage(info: info, hasAlpha: false, memory: UnsafeRawBufferPointer(memory)) { $0.deallocate() }
        let spec = ImageTensorSpec(
            width: size.width, height: size.height, channelOrder: channels == 3 ? .rgb : .gray, cropAndScale: .scaleFill)
        let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(maxPixels: width * height))
        var result = [UInt8](repeating: 0, count: spec.byteCount)
        let outcome = result.withUnsafeMutableBytes { bytes -> Result<ImageInfo, ImageError> in
            Result { () throws(ImageError) in try pipeline.prepare(image, into: bytes) }
        }
        _ = try outcome.get()
        return result
    }

    private static func lent<R>(
        _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(ImageError) -> R
    ) throws(ImageError) -> R {
        try bytes.withUnsafeBytes { raw in Result { () throws(ImageError) in try body(raw) } }.get()
    }
}

/// Converts a picture that a model produced to the geometry of the client's picture: without the margin of the tensor,
/// and at the size of the client's picture times the model's factor.
public struct PictureReturn: Sendable {
    private let x: PictureMapping.Axis, y: PictureMapping.Axis
    private let tensor: ImageSize
    /// The maximum number of pixels of an answer.
    public let maximumPixels: Int

    /// - Parameters:
    ///   - info: the header of the client's picture.
    ///   - pipeline: the pipeline that prepared it; its limit of pixels also applies to the answer.
    public init(_ info: ImageInfo, _ pipeline: ImagePipeline, _ options: ImageDecodeOptions) {
        let spec = pipeline.spec.resolved(for: info, options: options)
        let mapping = PictureMapping(info, spec: spec, options: options)
        (x, y) = (mapping.x, mapping.y)
        tensor = ImageSize(width: spec.width, height: spec.height)
        maximumPixels = pipeline.limits.maxPixels
    }

    /// One axis of the model's picture.
    struct Side: Equatable {
        /// The pixels that show the client's picture.
        var part: Range<Int>
        /// The number of pixels of the answer.
        var length: Int

        /// - Parameters:
        ///   - axis: maps the client's picture to the tensor.
        ///   - tensor: the number of pixels of the tensor.
        ///   - made: the number of pixels that the model produced.
        init(_ axis: PictureMapping.Axis, tensor: Int, made: Int) {
            let factor = Double(made) / Double(max(1, tensor)), maximum = Double(axis.length)
            let start = min(max(axis.inverse(0), 0), maximum),
                end = min(max(axis.inverse(Double(tensor)), start), maximum)
            length = max(1, Int(((end - start) * factor).rounded()))
            let first = Int((axis.forward(start) * factor).rounded()),
                last = Int((axis.forward(end) * factor).rounded())
            let lower = min(max(first, 0), max(0, made - 1))
            part = lower..<min(max(last, lower + 1), max(made, lower + 1))
        }
    }

    /// The size of the answer.
    /// - Parameter made: the format of the model's picture.
    public func size(of made: PixelReconstruction) -> ImageSize {
        let (x, y) = sides(made)
        return ImageSize(width: x.length, height: y.length)
    }

    /// True if the limits allow an answer of this size.
    public func isAllowed(_ size: ImageSize) -> Bool {
        let (count, overflow) = size.width.multipliedReportingOverflow(by: size.height)
        return !overflow && count <= maximumPixels && max(size.width, size.height) <= 65_535
    }

    /// The size of the picture as it is displayed.
    package var displayed: ImageSize { ImageSize(width: x.length, height: y.length) }

    /// True if the tensor shows the whole picture; less than half a pixel is a rounding error.
    package var isWhole: Bool {
        func isWhole(_ axis: PictureMapping.Axis, _ tensor: Int) -> Bool {
            axis.inverse(0) < 0.5 && axis.inverse(Double(tensor)) > Double(axis.length) - 0.5
        }
        return isWhole(x, tensor.width) && isWhole(y, tensor.height)
    }

    /// The cells of a map of this size over the tensor that show the picture.
    package func shown(of map: ImageSize) -> (x: Range<Int>, y: Range<Int>) {
        (
            Side(x, tensor: tensor.width, made: map.width).part, Side(y, tensor: tensor.height, made: map.height).part
        )
    }

    private func sides(_ made: PixelReconstruction) -> (x: Side, y: Side) {
        (Side(x, tensor: tensor.width, made: made.width), Side(y, tensor: tensor.height, made: made.height))
    }

    /// The picture as PNG.
    /// - Parameters:
    ///   - made: the format of the model's picture.
    ///   - raw: the data of the model's picture.
    ///   - isCancelled: called between the steps and rows; if it returns true, the call throws `cancelled`.
    public func png(
        _ made: PixelReconstruction, _ raw: UnsafeRawBufferPointer, isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> [UInt8] {
        let (x, y) = sides(made), size = size(of: made)
        guard isAllowed(size) else {
            throw .tooLarge(
                pixels: size.width.multipliedReportingOverflow(by: size.height).partialValue, limit: maximumPixels,
                width: size.width, height: size.height)
        }
        let channels = made.channelOrder.channels
        let part = Self.rows(x.part, y.part, of: try made.pixels(raw), width: made.width, channels: channels)
        let answer =
            x.part.count == x.length && y.part.count == y.length
            ? part
            : try Self.scaled(part, x.part.count, y.part.count, to: (x.length, y.length), channels, isCancelled)
        if isCancelled() { throw .cancelled }
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
        for row in y {
            part += pixels[(row * width + x.lowerBound) * channels..<(row * width + x.upperBound) * channels]
        }
        return part
    }

    private static func scaled(
        _ pixels: [UInt8], _ width: Int, _ height: Int, to size: (width: Int, height: Int), _ channels: Int,
        _ isCancelled: () -> Bool
    ) throws(ImageError) -> [UInt8] {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: width * height * 4, alignment: 16)
        for index in 0..<width * height {
            for channel in 0..<3 {
                memory[index * 4 + channel] = pixels[index * channels + (channels == 3 ? channel : 0)]
            }
            memory[index * 4 + 3] = 255
        }
        let info = ImageInfo(format: .png, width: width, height: height, orientation: 1)
        let image = try PixelImage(info: info, hasAlpha: false, memory: UnsafeRawBufferPointer(memory)) {
            $0.deallocate()
        }
        let spec = ImageTensorSpec(
            width: size.width, height: size.height, channelOrder: channels == 3 ? .rgb : .gray, cropAndScale: .scaleFill
        )
        let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(maxPixels: width * height))
        var result = [UInt8](repeating: 0, count: spec.byteCount)
        let outcome = result.withUnsafeMutableBytes { bytes -> Result<ImageInfo, ImageError> in
            Result { () throws(ImageError) in try pipeline.prepare(image, into: bytes, isCancelled: isCancelled) }
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

import CJPEG

/// Converts the bytes of a picture to the tensor of a model.
///
/// Any number of threads may use a pipeline at the same time. Memory of finished calls is kept for later calls of any
/// pipeline.
public final class ImagePipeline: Sendable {
    /// The specification of the tensor.
    public let spec: ImageTensorSpec
    /// The limits of pictures.
    public let limits: ImageLimits

    private let tables: ElementTables
    private let packing: RowPacking?
    /// One pool for all pipelines, so that its memory does not grow with their number.
    static let pool = ScratchPool(limit: 32)

    /// The longest side of a picture: libjpeg's limit for JPEG, and JPEG's own for the other formats. It limits the
    /// work for one row.
    private static func maximumSide(_ format: ImageFormat) -> Int { format == .jpeg ? 65_500 : 65_535 }

    /// Creates a pipeline.
    ///
    /// - Throws: `invalidSpec` if the specification is inconsistent.
    public init(spec: ImageTensorSpec, limits: ImageLimits = ImageLimits()) throws(ImageError) {
        try spec.validate()
        self.spec = spec
        self.limits = limits
        tables = ElementTables(spec)
        packing = RowPacking(spec)
    }

    /// The pipeline for one picture: if the tensor's size depends on the picture, with that size; otherwise itself.
    public func resolved(for info: ImageInfo, options: ImageDecodeOptions = ImageDecodeOptions()) -> ImagePipeline {
        spec.openSize == nil ? self : ImagePipeline(self, spec: spec.resolved(for: info, options: options))
    }

    /// A copy of a pipeline for a tensor of another size.
    private init(_ other: ImagePipeline, spec: ImageTensorSpec) {
        self.spec = spec
        limits = other.limits
        tables = other.tables
        packing = other.packing
    }

    /// The format of a picture by its first bytes; nil if it is not supported.
    public static func format(of bytes: UnsafeRawBufferPointer) -> ImageFormat? {
        FormatSniffer.format(ByteReader(bytes))
    }

    /// Reads a picture's header. Allocates no memory for pixels and applies no limit.
    ///
    /// - Parameter frame: the layout of the bytes if they are a raw frame; nil for a file.
    /// - Throws: `empty`, `unsupportedFormat`, `truncated` (the header is incomplete) or `corrupt`.
    public static func probe(
        _ bytes: UnsafeRawBufferPointer, frame: RawFrame? = nil
    ) throws(ImageError) -> ImageInfo {
        try PictureHeader.read(bytes, frame: frame).info
    }

    /// Releases the memory kept for later calls of any pipeline. Call it when idle.
    public static func releaseMemory() { pool.releaseAll() }

    /// Decodes, orients, crops and scales a picture, and writes the tensor.
    ///
    /// Synchronous: computes on the calling thread.
    ///
    /// - Parameters:
    ///   - bytes: the whole picture; only read, and not kept.
    ///   - frame: the layout of the bytes if they are a raw frame; nil for a file.
    ///   - destination: exactly `spec.byteCount` bytes, of any alignment. After an error, its contents are undefined.
    ///   - options: the options of this request.
    ///   - isCancelled: called between batches of rows; if it returns true, the call throws `cancelled`.
    /// - Returns: the data of the header, with the orientation that was used.
    public func prepare(
        _ bytes: UnsafeRawBufferPointer, frame: RawFrame? = nil, into destination: UnsafeMutableRawBufferPointer,
        options: ImageDecodeOptions = ImageDecodeOptions(), isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> ImageInfo {
        guard destination.count == spec.byteCount, let output = destination.baseAddress else {
            throw .wrongSize(expected: spec.byteCount, got: destination.count)
        }
        let header = try PictureHeader.read(bytes, frame: frame, isCancelled: isCancelled)
        try check(header)
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        defer { scratch.jpeg.close() }
        let plan = plan(bytes, header: header, options: options, scratch: scratch)
        let rows = try open(
            bytes, header: header, scale: plan.scale, region: plan.region, gray: spec.channelOrder == .gray,
            background: spec.background, decodesAllPixels: options.decodesAllPixels, scratch: scratch,
            isCancelled: isCancelled)
        try write(rows, plan: plan, scratch: scratch, output: output, isCancelled: isCancelled)
        return header.info.oriented(options.orientation)
    }

    /// Orients, crops and scales a decoded picture, or a part of it (then the picture must be upright), and writes the
    /// tensor.
    ///
    /// - Parameter window: the part to use instead of the picture; nil for all of it. Its box replaces
    ///   ``ImageDecodeOptions/part``.
    /// - Returns: the data of the header, with the orientation that was used; for a part, with the part's size.
    public func prepare(
        _ image: PixelImage, window: PictureWindow? = nil, into destination: UnsafeMutableRawBufferPointer,
        options: ImageDecodeOptions = ImageDecodeOptions(), isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> ImageInfo {
        guard destination.count == spec.byteCount, let output = destination.baseAddress else {
            throw .wrongSize(expected: spec.byteCount, got: destination.count)
        }
        try check(image.info)
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        let (info, plan) = Self.plan(of: image, window: window, spec: spec, options: options)
        let rows = try PixelRows(
            image, window: window, gray: spec.channelOrder == .gray, background: spec.background,
            region: plan.region, memory: scratch.rows)
        try write(rows, plan: plan, scratch: scratch, output: output, isCancelled: isCancelled)
        return info
    }

    /// The plan for a decoded picture, or for a part of it.
    static func plan(
        of image: PixelImage, window: PictureWindow?, spec: ImageTensorSpec, options: ImageDecodeOptions
    ) -> (info: ImageInfo, plan: DecodePlan) {
        // Decoded pixels cannot be decoded at a reduced size, whatever the format was.
        var options = options
        options.fullDecode = true
        var info = image.info.oriented(options.orientation)
        if let window {
            options.part = window.box
            info = ImageInfo(format: info.format, width: window.width, height: window.height, orientation: 1)
        }
        return (info, DecodePlan(header: PictureHeader(info: info, truncation: nil), spec: spec, options: options))
    }

    /// Checks the header of a picture against the limits.
    public func check(_ info: ImageInfo) throws(ImageError) {
        try check(PictureHeader(info: info, truncation: nil))
    }

    /// Throws `turnedOff` for a picture of a disabled format, or with an item of such a format.
    public func check(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        guard limits.formats.contains(format) else { throw .turnedOff(format) }
        guard format == .heic || format == .avif, !limits.formats.isSuperset(of: [.heic, .avif, .jpeg]) else { return }
        for coding in MediaItems.formats(ByteReader(bytes)) where !limits.formats.contains(coding) {
            throw .turnedOff(coding)
        }
    }

    /// The plan for a picture. A JPEG that would be decoded reduced with a margin for which the difference is hardly
    /// visible is measured first, and decoded in full if the difference is visible.
    private func plan(
        _ bytes: UnsafeRawBufferPointer, header: PictureHeader, options: ImageDecodeOptions, scratch: Scratch
    ) -> DecodePlan {
        let plan = DecodePlan(header: header, spec: spec, options: options)
        guard plan.scale < 8, spec.decodeMargin >= Self.triedMargin,
            header.pixels <= ScaleCheck.maximumBytesBeforePixels,
            let distortion = ScaleCheck.distortion(
                of: bytes, scale: plan.scale, decoder: scratch.jpeg, memory: scratch.rows)
        else { return plan }
        var options = options
        options.fullDecode = true
        var full = DecodePlan(header: header, spec: spec, options: options)
        full.distortion = distortion
        return full
    }

    /// The plan that `prepare` would use; nothing is decoded with it.
    func plan(_ bytes: UnsafeRawBufferPointer, header: PictureHeader, options: ImageDecodeOptions) -> DecodePlan {
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        return plan(bytes, header: header, options: options, scratch: scratch)
    }

    /// The margin from which colours are measured. A smaller margin trades accuracy for speed.
    private static let triedMargin = 2.0

    /// Checks a picture against all limits that its header can exceed.
    func check(_ header: PictureHeader) throws(ImageError) {
        let info = header.info
        guard limits.formats.contains(info.format) else { throw .turnedOff(info.format) }
        let (pixels, overflow) = info.width.multipliedReportingOverflow(by: info.height)
        guard !overflow, pixels <= limits.maxPixels else {
            throw .tooLarge(
                pixels: overflow ? Int.max : pixels, limit: limits.maxPixels, width: info.width, height: info.height)
        }
        let side = Self.maximumSide(info.format)
        guard max(info.width, info.height) <= side else {
            throw .sideTooLong(limit: side, width: info.width, height: info.height)
        }
        let scans = limits.scans(ofPixels: pixels)
        guard header.scans <= scans else { throw .tooManyScans(limit: scans) }
        if let mismatch = header.mismatch { throw mismatch }
        if let truncation = header.truncation, !limits.tolerateTruncation { throw .truncated(truncation) }
    }

    /// - Parameters:
    ///   - scale, region: as in a `DecodePlan`.
    ///   - background: the colour behind transparent pixels; nil if rows keep their opacity.
    func open(
        _ bytes: UnsafeRawBufferPointer, header: PictureHeader, scale: Int, region: Region, gray: Bool,
        background: RGBColor?, decodesAllPixels: Bool = false, scratch: Scratch, isCancelled: () -> Bool
    ) throws(ImageError) -> any RowSource {
        var limits = limits
        limits.maxScans = limits.scans(ofPixels: header.info.width * header.info.height)
        var request = RowRequest(
            region: region, gray: gray, background: background, decodesAllPixels: decodesAllPixels, limits: limits)
        switch header.info.format.codec {
        case .jpeg:
            let found = try scratch.jpeg.open(bytes, tolerant: limits.tolerateTruncation)
            guard Int(found.width) == header.info.width, Int(found.height) == header.info.height else {
                throw .corrupt("the JPEG headers contradict each other")
            }
            let held = Int(clamping: found.coefficient_bytes)
            if found.multiple_scans != 0, held > limits.maxBytes {
                throw .tooMuchMemory(bytes: held, limit: limits.maxBytes, reason: "it has several scans")
            }
            let toGray = gray && found.components == 3
            request.gray = gray && !toGray
            let rows = try JPEGRows(
                decoder: scratch.jpeg, header: found, scale: scale, request, rows: scratch.rows,
                isCancelled: isCancelled)
            return toGray ? try GrayRows(rows, width: region.x.count, memory: scratch.whole) : rows
        case .png:
            let decoder = try PNGDecoder(
                bytes, width: header.info.width, height: header.info.height,
                toleratesTruncation: limits.tolerateTruncation)
            return try PNGRows(decoder: decoder, request, scratch: scratch, isCancelled: isCancelled)
        case .webp:
            // The frame's range was clipped to the available bytes.
            let frame = header.frame.map { UnsafeRawBufferPointer(rebasing: bytes[$0.range]) }
            return try WebPRows(
                frame ?? bytes, header: header, request, whole: scratch.whole, isCancelled: isCancelled)
        case .pnm:
            guard let samples = header.samples else { break }
            let pixels = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(header.pixels))
            // With 255 as the greatest sample, the samples are the bytes of a raw frame.
            if header.truncation == nil, let format = samples.format {
                let frame = try RawFrame(format, width: header.info.width, height: header.info.height)
                let bytes = UnsafeRawBufferPointer(rebasing: pixels.prefix(frame.byteCounts.upperBound))
                return try RawRows(bytes, frame: frame, request, memory: scratch.rows)
            }
            return try PNMRows(
                bytes, header: header, samples: samples, request, memory: scratch.rows, isCancelled: isCancelled)
        case .raw:
            guard let frame = header.raw else { break }
            return try RawRows(bytes, frame: frame, request, memory: scratch.rows)
        case .confined: break
        }
        throw .unavailable(header.info.format, reason: "it is decoded in a separate process")
    }

    private func write(
        _ rows: any RowSource, plan: DecodePlan, scratch: Scratch, output: UnsafeMutableRawPointer,
        isCancelled: () -> Bool
    ) throws(ImageError) {
        if plan.framing.leavesRoom(in: spec) { TensorWriter.fill(output, spec: spec, tables: tables) }
        let writer = TensorWriter(
            spec: spec, tables: tables, packing: packing, framing: plan.framing, orientation: plan.orientation,
            destination: output)
        var resampler = try RegionResampler(
            x: plan.x, y: plan.y, width: plan.region.x.count, channels: rows.channels,
            verticalFirst: plan.verticalFirst, scratch: scratch)
        var index = 0
        while !resampler.isDone {
            if isCancelled() { throw .cancelled }
            guard let batch = try rows.next() else { throw .corrupt("it has fewer rows than its header says") }
            for row in 0..<batch.count {
                if resampler.isIdentity {
                    resampler.passOne()
                    writer.write(batch.base + row * batch.stride, index: index, sourceChannels: rows.channels)
                    index += 1
                    continue
                }
                resampler.push(batch.base + row * batch.stride)
                while let result = resampler.next() {
                    writer.write(result, index: index, sourceChannels: rows.channels)
                    index += 1
                }
            }
        }
    }
}

/// The part of a picture that a pipeline decodes, for benchmarks that measure only the decoder.
package struct DecodeOutline: Sendable, Hashable {
    /// The scale in eighths of the stored size.
    package let scale: Int
    /// The columns of the scaled picture, as stored.
    package let x: Range<Int>
    /// The rows of the scaled picture, as stored.
    package let y: Range<Int>
}

extension ImagePipeline {
    /// The part for a picture that is within the limits.
    package func outline(
        _ bytes: UnsafeRawBufferPointer, options: ImageDecodeOptions
    ) throws(ImageError) -> DecodeOutline {
        let plan = plan(bytes, header: try PictureHeader.read(bytes), options: options)
        return DecodeOutline(scale: plan.scale, x: plan.region.x, y: plan.region.y)
    }
}

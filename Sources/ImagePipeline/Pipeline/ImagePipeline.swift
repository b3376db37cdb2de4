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
    /// One for all pipelines: what is kept does not grow with their number.
    static let pool = ScratchPool(limit: 32)

    /// The longest side of a picture: what libjpeg decodes at most, and what JPEG can have. It bounds the work that a
    /// row can cause.
    private static func maximumSide(_ format: ImageFormat) -> Int { format == .jpeg ? 65_500 : 65_535 }

    /// Creates a pipeline.
    ///
    /// - Throws: `invalidSpec` if the specification is contradictory.
    public init(spec: ImageTensorSpec, limits: ImageLimits = ImageLimits()) throws(ImageError) {
        try spec.validate()
        self.spec = spec
        self.limits = limits
        tables = ElementTables(spec)
        packing = RowPacking(spec)
    }

    /// The pipeline for one picture: where the tensor takes its size, with that size.
    public func settled(for info: ImageInfo, options: ImageDecodeOptions = ImageDecodeOptions()) -> ImagePipeline {
        spec.openSize == nil ? self : ImagePipeline(self, spec: spec.settled(for: info, options: options))
    }

    /// The same for a tensor of another size.
    private init(_ other: ImagePipeline, spec: ImageTensorSpec) {
        self.spec = spec
        limits = other.limits
        tables = other.tables
        packing = other.packing
    }

    /// The format of a picture by its first bytes; nil for one that is not supported.
    public static func format(of bytes: UnsafeRawBufferPointer) -> ImageFormat? {
        FormatSniffer.format(ByteReader(bytes))
    }

    /// Reads a picture's header. Allocates nothing for its pixels and applies no limit.
    ///
    /// - Throws: `empty`, `unsupportedFormat`, `truncated` (the header is not whole) or `corrupt`.
    public static func probe(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        try PictureHeader.read(bytes).info
    }

    /// Releases the memory that is kept for later calls of any pipeline. Call it when idle.
    public static func releaseMemory() { pool.releaseAll() }

    /// Decodes, orients, crops and scales a picture, and writes the tensor.
    ///
    /// Synchronous: computes on the calling thread.
    ///
    /// - Parameters:
    ///   - bytes: the whole picture; only read, and not kept.
    ///   - destination: exactly `spec.byteCount` bytes, of any alignment. After an error, its contents are undefined.
    ///   - options: the options of this request.
    ///   - isCancelled: called between batches of rows; if it returns true, the call throws `cancelled`.
    /// - Returns: what the header says.
    public func prepare(
        _ bytes: UnsafeRawBufferPointer, into destination: UnsafeMutableRawBufferPointer,
        options: ImageDecodeOptions = ImageDecodeOptions(), isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> ImageInfo {
        guard destination.count == spec.byteCount, let output = destination.baseAddress else {
            throw .wrongSize(expected: spec.byteCount, got: destination.count)
        }
        let header = try PictureHeader.read(bytes, isCancelled: isCancelled)
        try judge(header)
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        defer { scratch.jpeg.close() }
        let plan = plan(bytes, header: header, options: options, scratch: scratch)
        let rows = try open(
            bytes, header: header, scale: plan.scale, region: plan.region, gray: spec.channelOrder == .gray,
            background: spec.background, decodesAllPixels: options.decodesAllPixels, scratch: scratch,
            isCancelled: isCancelled)
        try write(rows, plan: plan, scratch: scratch, output: output, isCancelled: isCancelled)
        return header.info
    }

    /// The same for a picture whose pixels are there, or for a part of it, which must be upright.
    ///
    /// - Parameter window: the part that is taken for the picture; nil for all of it. Its box is
    ///   ``ImageDecodeOptions/part``.
    /// - Returns: what the header says; of a part, its size.
    public func prepare(
        _ image: PixelImage, window: PictureWindow? = nil, into destination: UnsafeMutableRawBufferPointer,
        options: ImageDecodeOptions = ImageDecodeOptions(), isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> ImageInfo {
        guard destination.count == spec.byteCount, let output = destination.baseAddress else {
            throw .wrongSize(expected: spec.byteCount, got: destination.count)
        }
        try judge(image.info)
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        let (info, plan) = Self.plan(of: image, window: window, spec: spec, options: options)
        let rows = try PixelRows(
            image, window: window, gray: spec.channelOrder == .gray, background: spec.background,
            region: plan.region, memory: scratch.rows)
        try write(rows, plan: plan, scratch: scratch, output: output, isCancelled: isCancelled)
        return info
    }

    /// The plan for a picture whose pixels are there, or for a part of it.
    static func plan(
        of image: PixelImage, window: PictureWindow?, spec: ImageTensorSpec, options: ImageDecodeOptions
    ) -> (info: ImageInfo, plan: DecodePlan) {
        // There is nothing to decode at a part of its size, whatever the format was.
        var options = options
        options.fullDecode = true
        var info = image.info
        if let window {
            options.part = window.box
            info = ImageInfo(format: info.format, width: window.width, height: window.height, orientation: 1)
        }
        return (info, DecodePlan(header: PictureHeader(info: info, truncation: nil), spec: spec, options: options))
    }

    /// Checks what is known of a picture before it is decoded against the limits.
    public func judge(_ info: ImageInfo) throws(ImageError) {
        try judge(PictureHeader(info: info, truncation: nil))
    }

    /// Throws `turnedOff` for a picture of a format that the limits leave out, or with an item of such a format in it.
    public func judge(_ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        guard limits.formats.contains(format) else { throw .turnedOff(format) }
        guard format == .heic || format == .avif, !limits.formats.isSuperset(of: [.heic, .avif, .jpeg]) else { return }
        for coding in MediaItems.formats(ByteReader(bytes)) where !limits.formats.contains(coding) {
            throw .turnedOff(coding)
        }
    }

    /// The plan for a picture. One that would be decoded at a part of its size is tried first, where the margin
    /// promises that the difference is hardly visible, and decoded in full where it is visible.
    private func plan(
        _ bytes: UnsafeRawBufferPointer, header: PictureHeader, options: ImageDecodeOptions, scratch: Scratch
    ) -> DecodePlan {
        let plan = DecodePlan(header: header, spec: spec, options: options)
        guard plan.scale < 8, spec.decodeMargin >= Self.triedMargin, header.pixels <= ScaleCheck.mostBeforePixels,
            let distortion = ScaleCheck.distortion(
                of: bytes, scale: plan.scale, decoder: scratch.jpeg, memory: scratch.rows)
        else { return plan }
        var options = options
        options.fullDecode = true
        var full = DecodePlan(header: header, spec: spec, options: options)
        full.distortion = distortion
        return full
    }

    /// As `prepare` would, for those who only want to know.
    func plan(_ bytes: UnsafeRawBufferPointer, header: PictureHeader, options: ImageDecodeOptions) -> DecodePlan {
        let scratch = Self.pool.take()
        defer { Self.pool.give(scratch) }
        return plan(bytes, header: header, options: options, scratch: scratch)
    }

    /// A smaller margin trades accuracy for speed.
    private static let triedMargin = 2.0

    /// The limits that the header alone can break.
    func judge(_ header: PictureHeader) throws(ImageError) {
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
        if let truncation = header.truncation, !limits.tolerateTruncation { throw .truncated(truncation) }
    }

    /// - Parameters:
    ///   - scale, region: as in a `DecodePlan`.
    ///   - background: for transparent pixels; with nil, rows keep their opacity.
    func open(
        _ bytes: UnsafeRawBufferPointer, header: PictureHeader, scale: Int, region: Region, gray: Bool,
        background: RGBColor?, decodesAllPixels: Bool = false, scratch: Scratch, isCancelled: () -> Bool
    ) throws(ImageError) -> any RowSource {
        var limits = limits
        limits.maxScans = limits.scans(ofPixels: header.info.width * header.info.height)
        var request = RowRequest(
            region: region, gray: gray, background: background, decodesAllPixels: decodesAllPixels, limits: limits)
        switch header.info.format {
        case .jpeg:
            let found = try scratch.jpeg.open(bytes, tolerant: limits.tolerateTruncation)
            guard Int(found.width) == header.info.width, Int(found.height) == header.info.height else {
                throw .corrupt("the JPEG headers contradict each other")
            }
            let held = Int(clamping: found.coefficient_bytes)
            if found.multiple_scans != 0, held > limits.maxBytes {
                throw .tooMuchMemory(bytes: held, limit: limits.maxBytes, reason: "it comes in several scans")
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
            // The frame's range was cut to the bytes there are.
            let frame = header.frame.map { UnsafeRawBufferPointer(rebasing: bytes[$0.range]) }
            return try WebPRows(
                frame ?? bytes, header: header, request, whole: scratch.whole, isCancelled: isCancelled)
        case .heic, .avif, .tiff, .gif, .bmp, .jxl:
            throw .unavailable(header.info.format, reason: "it is decoded in a separate process")
        }
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

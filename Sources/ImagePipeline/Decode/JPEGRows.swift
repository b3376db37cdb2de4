import CJPEG

/// The rows of a JPEG. Only the MCUs that the region touches are reconstructed.
final class JPEGRows: RowSource {
    let channels: Int
    private let decoder: JPEGDecoder
    private let region: Region
    private let decodedX: Range<Int>
    private let bytesPerPixel: Int
    private let isCMYK: Bool
    private let buffer: UnsafeMutablePointer<UInt8>
    private let stride: Int
    private var y: Int

    /// The number of rows decoded together: enough to make calls cheap, few enough to stay in the cache.
    private static let batch = 8

    /// The number of rows skipped together: whole rows of MCUs for any sampling and scale.
    ///
    /// libjpeg reconstructs the last row of MCUs of each batch, and the one after it, unnecessarily. So a batch has the
    /// pixels of 64 rows of the widest picture, and at least 64 rows.
    static func skippedBatch(width: Int, scale: Int) -> Int {
        max(64, (65_536 * scale * scale / max(1, width)) & ~63)
    }

    /// The number of columns next to the region that are decoded too: smooth chroma upsampling uses one more chroma
    /// sample, and treats the edge of the decoded columns like the edge of the picture.
    private static let margin = 4

    /// The misalignment of the buffer. libjpeg-turbo writes rows that are aligned to its vectors past the caches, but
    /// they are read next.
    private static let misalignment = 4

    /// Rows of a picture that the decoder has opened.
    init(
        decoder: JPEGDecoder, header: cjpeg_header, scale: Int, _ request: RowRequest, rows: Memory,
        isCancelled: () -> Bool
    ) throws(ImageError) {
        let (gray, region, decodesAllPixels) = (request.gray, request.region, request.decodesAllPixels)
        self.decoder = decoder
        self.region = region
        isCMYK = header.components == 4
        let output: cjpeg_output =
            isCMYK ? CJPEG_CMYK : gray || header.components == 1 ? CJPEG_GRAY : CJPEG_RGBX
        channels = gray || output == CJPEG_GRAY ? 1 : 4
        bytesPerPixel = output == CJPEG_GRAY ? 1 : 4

        let size = try decoder.start(
            scale: scale, output: output, columns: decodesAllPixels ? .max : region.x.upperBound + Self.margin,
            maxScans: request.limits.maxScans, isCancelled: isCancelled)
        guard region.x.upperBound <= size.width, region.y.upperBound <= size.height, !region.x.isEmpty else {
            throw .corrupt("the JPEG's size differs from its header")
        }
        let wanted = max(0, region.x.lowerBound - Self.margin)..<min(size.width, region.x.upperBound + Self.margin)
        decodedX = wanted.count < size.width && !decodesAllPixels ? try decoder.crop(wanted) : 0..<size.width
        let skips = !decodesAllPixels
        guard decodedX.lowerBound <= region.x.lowerBound, decodedX.upperBound >= region.x.upperBound else {
            throw .corrupt("the JPEG's size differs from its header")
        }
        stride = (decodedX.count * bytesPerPixel + 63) & ~63
        buffer = try rows.reserve(stride * Self.batch + Self.misalignment) + Self.misalignment
        y = 0
        let batch = skips ? Self.skippedBatch(width: size.width, scale: scale) : Self.batch
        while y < region.y.lowerBound {
            if isCancelled() { throw .cancelled }
            let count = min(batch, region.y.lowerBound - y)
            if skips {
                try decoder.skip(rows: count)
            } else {
                try decoder.read(buffer, stride: stride, rows: count)
            }
            y += count
        }
    }

    func next() throws(ImageError) -> RowBatch? {
        let count = min(Self.batch, region.y.upperBound - y)
        guard count > 0 else { return nil }
        try decoder.read(buffer, stride: stride, rows: count)
        y += count
        let base = buffer + (region.x.lowerBound - decodedX.lowerBound) * bytesPerPixel
        if isCMYK {
            for row in 0..<count {
                RowConversion.rgbxFromInvertedCMYK(base + row * stride, count: region.x.count)
                if channels == 1 { RowConversion.grayFromRGBX(base + row * stride, count: region.x.count) }
            }
        }
        return RowBatch(base: base, stride: stride, count: count)
    }
}

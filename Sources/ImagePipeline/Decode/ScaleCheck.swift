import CJPEG

/// Measures, on the first rows of a JPEG, how decoding at a reduced size changes its colours.
///
/// A full decode clips each pixel to 0 to 255 and then averages pixels; libjpeg's reduced sizes average first. If
/// chroma has fewer samples than luma, fine patterns of saturated colours (screenshots, drawings, test pictures) have
/// many clipped pixels, and become up to 20 levels brighter or darker. In photographs the difference is a tenth of a
/// level.
enum ScaleCheck {
    /// The number of rows that are measured: one row of MCUs. (At full size libjpeg reads two, because chroma is
    /// interpolated across their border.) Pictures large enough to be decoded reduced have a hundred or more.
    private static let rows = 16

    /// The maximum number of bytes before the first scan for which a picture is measured, because they are read twice
    /// more. Profiles and previews take a tenth of it; a header can consist of millions of empty segments.
    static let maximumBytesBeforePixels = 1 << 20

    /// The side of the compared blocks: that of a DCT block, the smallest that has a whole pixel at each scale.
    private static let block = 8

    /// The mean difference in levels above which a picture is decoded in full: half more than that of any photograph
    /// (0.16, 0.30 and 0.50 at 4, 2 and 1 eighths), and less than that of any pattern that was far more than two levels
    /// off in a tensor.
    private static func tolerance(scale: Int) -> Double {
        scale >= 4 ? 0.3 : scale == 2 ? 0.5 : 0.75
    }

    /// The mean difference, in levels of 255, between blocks of 8 x 8 pixels at full size and at `scale` eighths. Nil
    /// if it is tolerable, or unknown because it would need the whole picture (progressive files) or the file is
    /// damaged.
    ///
    /// Closes the decoder and overwrites the memory.
    static func distortion(
        of bytes: UnsafeRawBufferPointer, scale: Int, decoder: JPEGDecoder, memory: Memory
    ) -> Double? {
        defer { decoder.close() }
        // The decoding of the picture finds the same error again and reports it.
        guard let full = try? sums(of: bytes, scale: 8, decoder: decoder, memory: memory),
            let part = try? sums(of: bytes, scale: scale, decoder: decoder, memory: memory),
            full.count == part.count, !full.isEmpty
        else { return nil }
        // A block has (8 / scale)² times as many pixels at full size.
        let ratio = SIMD4(repeating: UInt32(clamping: 64 / (scale * scale)))
        var total: UInt64 = 0
        for (whole, scaled) in zip(full, part) {
            let scaled = scaled &* ratio
            let difference = pointwiseMax(whole, scaled) &- pointwiseMin(whole, scaled)
            total += UInt64(difference.x) + UInt64(difference.y) + UInt64(difference.z)
        }
        let mean = Double(total) / Double(full.count * block * block * 3)
        return mean > tolerance(scale: scale) ? mean : nil
    }

    /// The sums of red, green and blue of each whole block in the first rows, at `scale` eighths of the size; empty if
    /// that would need the whole picture.
    private static func sums(
        of bytes: UnsafeRawBufferPointer, scale: Int, decoder: JPEGDecoder, memory: Memory
    ) throws(ImageError) -> [SIMD4<UInt32>] {
        let header = try decoder.open(bytes, tolerant: false)
        guard header.components == 3, header.multiple_scans == 0, header.height >= UInt32(rows) else { return [] }
        let size = try decoder.start(scale: scale, output: CJPEG_RGBX, maxScans: 1, isCancelled: { false })
        // A block has scale x scale pixels of the scaled picture.
        let height = rows / block * scale
        let stride = size.width * 4
        let pixels = try memory.reserve(stride * height)
        try decoder.read(pixels, stride: stride, rows: height)
        let across = Int(header.width) / block
        var sums = [SIMD4<UInt32>](repeating: .zero, count: across * (rows / block))
        for y in 0..<height {
            var pixel = UnsafeRawPointer(pixels + y * stride)
            let first = y / scale * across
            for index in first..<first + across {
                var sum = sums[index]
                for _ in 0..<scale {
                    sum &+= SIMD4<UInt32>(truncatingIfNeeded: pixel.loadUnaligned(as: SIMD4<UInt8>.self))
                    pixel += 4
                }
                sums[index] = sum
            }
        }
        return sums
    }
}

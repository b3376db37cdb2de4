import CPNG

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Writes PNG files.
public enum PNGEncoder {
    /// Encodes 8-bit gray or RGB pixels.
    ///
    /// - Parameters:
    ///   - width: columns, at least 1.
    ///   - height: rows, at least 1.
    ///   - channels: 1 (gray) or 3 (red, green, blue).
    ///   - pixels: exactly `width * height * channels` bytes, row by row.
    /// - Returns: a whole file.
    public static func encode(
        width: Int, height: Int, channels: Int, pixels: UnsafeRawBufferPointer
    ) throws(ImageError) -> [UInt8] {
        guard (1...65_535).contains(width), (1...65_535).contains(height) else {
            throw .invalidSpec("a PNG of \(width) x \(height) pixels; each side has 1 to 65535")
        }
        guard channels == 1 || channels == 3 else {
            throw .invalidSpec("a PNG of \(channels) channels; 1 and 3 can be encoded")
        }
        let expected = width * height * channels
        guard pixels.count == expected, let base = pixels.baseAddress else {
            throw .wrongSize(expected: expected, got: pixels.count)
        }
        // zlib's 6, its usual one, takes nearly three times as long and saves 6 % of a photograph.
        let compression: Int32 = 3
        var count = 0
        let encoded = cpng_encode(
            base.assumingMemoryBound(to: UInt8.self), UInt32(clamping: width), UInt32(clamping: height),
            UInt32(clamping: channels), compression, &count)
        guard let encoded else { throw .outOfMemory }
        defer { free(encoded) }
        return [UInt8](UnsafeBufferPointer(start: encoded, count: count))
    }
}

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
    ///   - isCancelled: called between batches of rows; if it returns true, the call throws `cancelled`.
    /// - Returns: a complete file.
    public static func encode(
        width: Int, height: Int, channels: Int, pixels: UnsafeRawBufferPointer, isCancelled: () -> Bool = { false }
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
        // zlib's default, 6, takes nearly three times as long and saves 6 % for a photograph.
        let compression: Int32 = 3
        var count = 0
        let (encoded, wasStopped) = EncoderPoll.run(isCancelled) { poll, context in
            cpng_encode(
                base.assumingMemoryBound(to: UInt8.self), UInt32(clamping: width), UInt32(clamping: height),
                UInt32(clamping: channels), compression, poll, context, &count)
        }
        guard let encoded else { throw wasStopped ? .cancelled : .outOfMemory }
        defer { free(encoded) }
        return [UInt8](UnsafeBufferPointer(start: encoded, count: count))
    }

    /// Encodes an image of numbers (classes, for example) row by row, with only one row in memory.
    ///
    /// - Parameters:
    ///   - width: columns, 1 to 65535.
    ///   - height: rows, 1 to 65535.
    ///   - bits: 8, or 16 with the high byte first.
    ///   - palette: the colours of the numbers, 256 times red, green, blue; nil for gray. Only for 8 bits.
    ///   - row: writes the `width * bits / 8` bytes of a row; the memory still holds the previous row. False stops the
    ///     encoder.
    /// - Throws: `cancelled` if `row` returned false; `outOfMemory`.
    package static func encode(
        width: Int, height: Int, bits: Int, palette: [UInt8]?,
        row: (Int, UnsafeMutableBufferPointer<UInt8>) -> Bool
    ) throws(ImageError) -> [UInt8] {
        guard (1...65_535).contains(width), (1...65_535).contains(height), bits == 8 || bits == 16,
            palette.map({ bits == 8 && $0.count == 768 }) ?? true
        else {
            throw .invalidSpec(
                "a PNG of \(width) x \(height) numbers of \(bits) bits; sides are 1 to 65535, bits 8 or 16")
        }
        var count = 0
        var didStop = false
        let line = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: width * bits / 8)
        defer { line.deallocate() }
        line.initialize(repeating: 0)
        let encoded = withoutActuallyEscaping(row) { row -> UnsafeMutablePointer<UInt8>? in
            let source = RowWriter(line: line, row: row)
            // Runs of one number compress well at any level, so use the fastest.
            let bytes = cpng_encode_rows(
                UInt32(width), UInt32(height), Int32(bits), palette, 1,
                { context, index in
                    guard let context else { return nil }
                    let source = Unmanaged<RowWriter>.fromOpaque(context).takeUnretainedValue()
                    source.didStop = !source.row(Int(index), source.line)
                    return source.didStop ? nil : UnsafePointer(source.line.baseAddress)
                }, Unmanaged.passUnretained(source).toOpaque(), &count)
            didStop = source.didStop
            return bytes
        }
        guard let encoded else { throw didStop ? .cancelled : .outOfMemory }
        defer { free(encoded) }
        return [UInt8](UnsafeBufferPointer(start: encoded, count: count))
    }

    /// The function that the C code calls.
    private final class RowWriter {
        let line: UnsafeMutableBufferPointer<UInt8>
        let row: (Int, UnsafeMutableBufferPointer<UInt8>) -> Bool
        var didStop = false

        init(
            line: UnsafeMutableBufferPointer<UInt8>, row: @escaping (Int, UnsafeMutableBufferPointer<UInt8>) -> Bool
        ) {
            self.line = line
            self.row = row
        }
    }
}

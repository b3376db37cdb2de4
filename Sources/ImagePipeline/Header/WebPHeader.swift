/// Reads the chunks of a WebP file (RFC 9649, section 2). Metadata is used only if the header announces it, as in
/// libwebp.
enum WebPHeader {
    /// - Parameter isCancelled: called between batches of chunks.
    static func read(_ reader: ByteReader, isCancelled: () -> Bool) throws(ImageError) -> PictureHeader {
        guard let announced = reader.little32(4) else {
            throw .truncated("the WebP ends at byte \(reader.count), in its header")
        }
        var canvas: (width: Int, height: Int)?
        var still: (width: Int, height: Int)?
        var frame: PictureHeader.Frame?
        var flags: UInt8 = 0
        var exif: ByteReader?
        var xmp: ByteReader?
        var chunks = 0
        var pixels = 0
        var offset = 12
        let end = min(reader.count, announced + 8)
        while let length = reader.little32(offset + 4), offset + 8 <= end {
            chunks += 1
            if chunks.isMultiple(of: PictureHeader.batch), isCancelled() { throw .cancelled }
            let payload = offset + 8
            if reader.has("VP8X", at: offset), canvas == nil {
                flags = reader.byte(payload) ?? 0
                canvas = try size(
                    reader, reader.little24(payload + 4).map { $0 + 1 }, reader.little24(payload + 7).map { $0 + 1 })
            } else if reader.has("VP8 ", at: offset), still == nil {
                still = try lossySize(reader, payload)
                pixels = payload
            } else if reader.has("VP8L", at: offset), still == nil {
                still = try losslessSize(reader, payload)
                pixels = payload
            } else if reader.has("ANMF", at: offset), frame == nil {
                frame = try firstFrame(reader, payload, length)
            } else if reader.has("EXIF", at: offset), flags & 0x08 != 0, exif == nil {
                exif = reader.slice(payload, length)
            } else if reader.has("XMP ", at: offset), flags & 0x04 != 0, xmp == nil {
                xmp = reader.slice(payload, length)
            }
            offset = payload + length + (length & 1)
        }
        guard let size = canvas ?? still else {
            throw reader.count < 30
                ? .truncated("the WebP ends at byte \(reader.count), in its header")
                : .corrupt("the WebP has no picture")
        }
        guard still != nil || frame != nil else {
            throw reader.count < announced + 8
                ? .truncated("the WebP ends at byte \(reader.count), before its pixels")
                : .corrupt("the WebP has no picture")
        }
        let orientation = exif.flatMap(EXIF.orientation) ?? xmp.flatMap(XMP.orientation) ?? 1
        let info = ImageInfo(format: .webp, width: size.width, height: size.height, orientation: orientation)
        let truncation =
            reader.count < announced + 8
            ? "the WebP ends at byte \(reader.count) of the \(announced + 8) that its header announces" : nil
        var header = PictureHeader(info: info, truncation: truncation, frame: still == nil ? frame : nil)
        header.pixels = min(pixels, reader.count)
        return header
    }

    /// Checks both sides. `nil` means that a side lies beyond the end of the file.
    private static func size(
        _ reader: ByteReader, _ width: Int?, _ height: Int?
    ) throws(ImageError) -> (width: Int, height: Int) {
        guard let width, let height else { throw .truncated("the WebP ends at byte \(reader.count), in its header") }
        guard width > 0, height > 0 else { throw .corrupt("the WebP has \(width) x \(height) pixels") }
        return (width, height)
    }

    /// The size in a lossy bitstream (RFC 6386, section 9.1).
    private static func lossySize(_ reader: ByteReader, _ payload: Int) throws(ImageError) -> (width: Int, height: Int)
    {
        try size(
            reader, reader.little16(payload + 6).map { $0 & 0x3FFF }, reader.little16(payload + 8).map { $0 & 0x3FFF })
    }

    /// The size in a lossless bitstream (RFC 9649, section 3.4).
    private static func losslessSize(
        _ reader: ByteReader, _ payload: Int
    ) throws(ImageError) -> (width: Int, height: Int) {
        let bits = reader.little32(payload + 1)
        return try size(reader, bits.map { ($0 & 0x3FFF) + 1 }, bits.map { ($0 >> 14 & 0x3FFF) + 1 })
    }

    private static func firstFrame(
        _ reader: ByteReader, _ payload: Int, _ length: Int
    ) throws(ImageError) -> PictureHeader.Frame {
        guard let x = reader.little24(payload), let y = reader.little24(payload + 3), length > 16,
            payload + 16 < reader.count
        else { throw .truncated("the WebP ends at byte \(reader.count), in its first frame") }
        let (width, height) = try size(
            reader, reader.little24(payload + 6).map { $0 + 1 }, reader.little24(payload + 9).map { $0 + 1 })
        let end = min(reader.count, payload + length)
        return PictureHeader.Frame(range: payload + 16..<end, x: x * 2, y: y * 2, width: width, height: height)
    }
}

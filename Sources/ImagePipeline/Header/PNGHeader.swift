/// Reads the chunks of a PNG.
enum PNGHeader {
    /// - Parameter isCancelled: called between batches of chunks.
    static func read(_ reader: ByteReader, isCancelled: () -> Bool) throws(ImageError) -> PictureHeader {
        guard let length = reader.big32(8), let width = reader.big32(16), let height = reader.big32(20),
            reader.byte(32) != nil
        else {
            throw .truncated("the PNG ends at byte \(reader.count), in its header")
        }
        guard length == 13, reader.has("IHDR", at: 12) else { throw .corrupt("the PNG does not begin with IHDR") }
        let largest = 0x7FFF_FFFF
        guard (1...largest).contains(width), (1...largest).contains(height) else {
            throw .corrupt("the PNG has \(width) x \(height) pixels")
        }

        var orientation = PNGOrientation()
        var chunks = 0
        var truncation: String?
        var offset = 33
        // A chunk with the orientation may also follow the pixels.
        while true {
            chunks += 1
            if chunks.isMultiple(of: PictureHeader.batch), isCancelled() { throw .cancelled }
            guard let length = reader.big32(offset) else {
                truncation = "the PNG ends at byte \(reader.count), before its end chunk"
                break
            }
            guard length <= largest, length <= reader.count - offset - 12 else {
                truncation = "the PNG ends at byte \(reader.count), within the chunk at byte \(offset)"
                break
            }
            if reader.has("IEND", at: offset + 4) { break }
            orientation.note(reader, type: offset + 4, data: reader.slice(offset + 8, length))
            offset += 12 + length
        }
        let info = ImageInfo(
            format: .png, width: width, height: height, orientation: orientation.orientation() ?? 1)
        return PictureHeader(info: info, truncation: truncation)
    }
}

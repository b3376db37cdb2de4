/// Finds the codings of the items of a HEIF file. A brand states only what a reader must support; an item may have any
/// coding.
enum MediaItems {
    private static let codings: [(StaticString, ImageFormat)] = [("hvc1", .heic), ("av01", .avif), ("jpeg", .jpeg)]

    /// The formats whose decoders a file may use: those of all item entries (`infe`, ISO/IEC 14496-12, 8.11.6) anywhere
    /// in the file.
    static func formats(_ reader: ByteReader) -> [ImageFormat] {
        var found: Set<ImageFormat> = []
        var place = 0
        while let start = reader.next(UInt8(ascii: "i"), from: place) {
            place = start + 1
            guard reader.has("infe", at: start), let version = reader.byte(start + 4) else { continue }
            // The item's type follows its identifier of 2 or 4 bytes and a protection index.
            let type = start + 8 + (version == 2 ? 2 : 4) + 2
            for (name, format) in codings where reader.has(name, at: type) { found.insert(format) }
        }
        return codings.map(\.1).filter(found.contains)
    }
}

/// Reads the orientation from EXIF data: tag 0x0112 of the first directory of a TIFF structure.
enum EXIF {
    /// The orientation in EXIF data, with or without the prefix that JPEG has.
    ///
    /// 1 to 8; 1 if the tag has another value; nil if the tag is missing or unreadable, and XMP decides.
    static func orientation(_ data: ByteReader) -> Int? {
        var tiff = data
        // Some writers keep the prefix in the other formats, and some write it twice.
        for _ in 0..<2 where tiff.has("Exif\0\0", at: 0) { tiff = tiff.slice(6, tiff.count - 6) }
        let little: Bool
        if tiff.has("II*\0", at: 0) {
            little = true
        } else if tiff.has("MM\0*", at: 0) {
            little = false
        } else {
            return nil
        }
        func number16(_ offset: Int) -> Int? { little ? tiff.little16(offset) : tiff.big16(offset) }
        func number32(_ offset: Int) -> Int? { little ? tiff.little32(offset) : tiff.big32(offset) }

        guard let directory = number32(4), let entries = number16(directory) else { return nil }
        for index in 0..<entries {
            // Offsets have 32 bits and counts 16 bits, so no sum overflows.
            let entry = directory + 2 + index * 12
            guard let tag = number16(entry) else { return nil }
            guard tag == 0x0112, let type = number16(entry + 2), let size = Self.size(type: type),
                let count = number32(entry + 4), count > 0
            else { continue }
            let bytes = count * size
            guard let place = bytes <= 4 ? entry + 8 : number32(entry + 8), place <= tiff.count - bytes else {
                continue
            }
            // There should be one, a SHORT. If a writer leaves several, the first one counts, as in Pillow.
            let value: Int? =
                switch type {
                case 1: tiff.byte(place).map(Int.init)
                case 3, 8: number16(place)
                case 4, 9: number32(place)
                default: nil
                }
            return value.flatMap { (1...8).contains($0) ? $0 : nil } ?? 1
        }
        return nil
    }

    /// The number of bytes of a value of a TIFF type (TIFF 6.0, section 2); nil for an unknown type: its entries are
    /// ignored.
    private static func size(type: Int) -> Int? {
        switch type {
        case 1, 2, 6, 7: 1
        case 3, 8: 2
        case 4, 9, 11, 13: 4
        case 5, 10, 12, 16: 8
        default: nil
        }
    }
}

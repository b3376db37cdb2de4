/// The one thing that is needed of EXIF: tag 0x0112 of the first directory of a TIFF structure.
enum EXIF {
    /// 1 to 8; nil where there is none, or none that is valid.
    static func orientation(_ tiff: ByteReader) -> Int? {
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
            // Offsets are of 32 bits and entries of 16: no sum overflows.
            let entry = directory + 2 + index * 12
            guard let tag = number16(entry) else { return nil }
            guard tag == 0x0112 else { continue }
            // There should be one, a SHORT. Of several, which some writers leave, the first counts, as for Pillow.
            guard let type = number16(entry + 2), let count = number32(entry + 4), count > 0 else { return nil }
            func place(_ size: Int) -> Int? { count * size <= 4 ? entry + 8 : number32(entry + 8) }
            let value: Int? =
                switch type {
                case 1: place(1).flatMap(tiff.byte).map(Int.init)
                case 3, 8: place(2).flatMap(number16)
                case 4, 9: place(4).flatMap(number32)
                default: nil
                }
            return value.flatMap { (1...8).contains($0) ? $0 : nil }
        }
        return nil
    }
}

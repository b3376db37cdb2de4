/// Writes uncompressed TIFF files.
enum TIFFFile {
    /// The bytes of a file.
    /// - Parameters:
    ///   - tags: the values of each tag, except those for compression and for the offsets of strips or tiles.
    ///   - parts: the bytes of each strip, or of each tile if there is a tag 322.
    ///   - isBig: true for big-endian files.
    static func bytes(_ tags: [Int: [Int]], parts: [[UInt8]], isBig: Bool = false) -> [UInt8] {
        func number(_ value: Int, _ bytes: Int) -> [UInt8] {
            (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (isBig ? bytes - 1 - $0 : $0))) }
        }
        let start = 8
        let offsets = parts.indices.map { index in start + parts[..<index].map(\.count).reduce(0, +) }
        let areTiles = tags[322] != nil
        var all = tags
        all[259] = all[259] ?? [1]
        all[areTiles ? 324 : 273] = offsets
        all[areTiles ? 325 : 279] = parts.map(\.count)
        let directory = start + parts.map(\.count).reduce(0, +)
        var behind: [UInt8] = []
        var entries: [UInt8] = []
        for (tag, values) in all.sorted(by: { $0.key < $1.key }) {
            // All values are LONG, except those that must be SHORT.
            let size = [258, 259, 262, 266, 277, 284, 320, 338, 339].contains(tag) ? 2 : 4
            let bytes = values.flatMap { number($0, size) }
            entries += number(tag, 2) + number(size == 2 ? 3 : 4, 2) + number(values.count, 4)
            if bytes.count <= 4 {
                entries += bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
            } else {
                entries += number(directory + 2 + 12 * all.count + 4 + behind.count, 4)
                behind += bytes
            }
        }
        return Array((isBig ? "MM" : "II").utf8) + number(42, 2) + number(directory, 4) + parts.flatMap { $0 }
            + number(all.count, 2) + entries + number(0, 4) + behind
    }
}

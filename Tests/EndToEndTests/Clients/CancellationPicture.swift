import Foundation

/// A black PNG of any size in few bytes, which keeps a decoder busy for as long as a test needs.
enum CancellationPicture {
    /// Makes a picture: 6 KB for each million pixels. Decoding 60 million takes about a tenth of a second.
    ///
    /// - Parameters:
    ///   - isInterlaced: true makes decoders hold the whole picture.
    ///   - hasColor: true takes 4 bytes a pixel, in the file and in memory.
    static func png(width: Int, height: Int, isInterlaced: Bool = false, hasColor: Bool = false) -> Data {
        var png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        var header = Data()
        for value in [width, height] { header.append(bigEndian: UInt32(value)) }
        // 8 bits, grey or RGBA, deflate, filters by row, not interlaced or Adam7
        header += [8, hasColor ? 6 : 0, 0, 0, isInterlaced ? 1 : 0]
        append("IHDR", header, to: &png)
        append(
            "IDAT", zeros(length(width, height, bytes: hasColor ? 4 : 1, isInterlaced: isInterlaced)), to: &png)
        append("IEND", Data(), to: &png)
        return png
    }

    /// The length of the data: each row of each pass begins with a byte for its filter.
    private static func length(_ width: Int, _ height: Int, bytes: Int, isInterlaced: Bool) -> Int {
        guard isInterlaced else { return (width * bytes + 1) * height }
        // The start of each pass of Adam7, and its steps (PNG specification, section 8.2).
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        return passes.reduce(0) { sum, pass in
            let columns = (width - pass.0 + pass.2 - 1) / pass.2, rows = (height - pass.1 + pass.3 - 1) / pass.3
            return sum + (columns > 0 ? (columns * bytes + 1) * rows : 0)
        }
    }

    /// A zlib stream of zeros: one literal, then matches of the length 258 at the distance 1 in the fixed code
    /// (RFC 1951, section 3.2.6).
    private static func zeros(_ count: Int) -> Data {
        var stream = Data([0x78, 0x01])
        var bits: UInt64 = 0, used = 0
        func put(_ value: UInt64, _ length: Int) {
            bits |= value << UInt64(used)
            used += length
            while used >= 8 {
                stream.append(UInt8(truncatingIfNeeded: bits))
                bits >>= 8
                used -= 8
            }
        }
        put(0b011, 3)  // the last block, fixed code
        let literal: UInt64 = 0b0000_1100  // 0x30, its bits in the order of transmission
        let match: UInt64 = 0b0_0000_1010_0011  // 285 as 11000101, then the distance as 00000
        let matches = (count - 1) / 258
        put(literal, 8)
        for _ in 0..<matches { put(match, 13) }
        for _ in 0..<(count - 1 - matches * 258) { put(literal, 8) }
        put(0, 7)  // the end
        put(0, 7)
        // Adler-32 of zeros: the first sum stays 1, the second counts.
        stream.append(bigEndian: UInt32(count % 65_521) << 16 | 1)
        return stream
    }

    private static func append(_ type: String, _ body: Data, to png: inout Data) {
        png.append(bigEndian: UInt32(body.count))
        let chunk = Data(type.utf8) + body
        png += chunk
        var sum: UInt32 = ~0
        for byte in chunk { sum = table[Int((sum ^ UInt32(byte)) & 0xFF)] ^ (sum >> 8) }
        png.append(bigEndian: ~sum)
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }
}

extension Data {
    fileprivate mutating func append(bigEndian value: UInt32) {
        append(contentsOf: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
    }
}

import Foundation

/// A black PNG of any size in few bytes: what keeps a decoder busy for as long as a test needs.
enum CancellationPicture {
    /// 6 KB for each million pixels. 60 million take about a tenth of a second to decode.
    static func png(width: Int, height: Int) -> Data {
        var png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        var header = Data()
        for value in [width, height] { header.append(bigEndian: UInt32(value)) }
        header += [8, 0, 0, 0, 0]  // 8 bits, grey, deflate, no filter but the rows' own, not interlaced
        append("IHDR", header, to: &png)
        append("IDAT", zeros((width + 1) * height), to: &png)
        append("IEND", Data(), to: &png)
        return png
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
        let literal: UInt64 = 0b0000_1100  // 0x30, its bits in the order in which they are sent
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

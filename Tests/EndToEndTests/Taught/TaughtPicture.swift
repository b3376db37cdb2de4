import Foundation
import TestSupport

/// Small pictures of a few kinds, which differ by their noise: an uncompressed PNG, which needs no library.
enum TaughtPicture {
    private static let side = 24

    /// A picture of a kind, from 0; the same numbers give the same bytes.
    static func png(kind: Int, number: Int) -> Data {
        var random = SplitMix(seed: UInt64(kind) << 32 | UInt64(number))
        var rows = Data()
        for y in 0..<side {
            rows.append(0)
            for x in 0..<side {
                for channel in 0..<3 {
                    // Stripes of another direction and colour for each kind.
                    let isLight = ((kind & 1 == 0 ? x : y) / (2 + kind / 2)) & 1 == 0
                    let base = isLight ? (channel == kind % 3 ? 220 : 90) : 30
                    rows.append(UInt8(base + Int.random(in: 0..<30, using: &random)))
                }
            }
        }
        return png(rows)
    }

    /// A picture of cells of one colour each, row by row from the top; as many in each row, which divide the side.
    static func png(cells: [[[Int]]]) -> Data {
        var rows = Data()
        for y in 0..<side {
            rows.append(0)
            for x in 0..<side {
                let row = cells[y * cells.count / side]
                rows += row[x * row.count / side].map { UInt8($0) }
            }
        }
        return png(rows)
    }

    private static func png(_ rows: Data) -> Data {
        var png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        var header = Data()
        for value in [side, side] { header += big(UInt32(value)) }
        append("IHDR", header + [8, 2, 0, 0, 0], to: &png)
        // One stored block (RFC 1951, section 3.2.4).
        let count = UInt16(rows.count)
        var stream =
            Data([0x78, 0x01, 1]) + [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
        stream += rows
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in rows {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        append("IDAT", stream + big(high << 16 | low), to: &png)
        append("IEND", Data(), to: &png)
        return png
    }

    private static func append(_ type: String, _ body: Data, to png: inout Data) {
        png += big(UInt32(body.count))
        let chunk = Data(type.utf8) + body
        var sum: UInt32 = ~0
        for byte in chunk {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
        }
        png += chunk + big(~sum)
    }

    private static func big(_ value: UInt32) -> Data {
        Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
    }
}

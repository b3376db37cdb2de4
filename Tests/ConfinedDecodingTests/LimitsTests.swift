import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// The memory reserved for a picture is the memory that decoding needs, and its time is limited by its size.
@Suite struct LimitsTests {
    private static let decoder = Probe.decoder()

    /// Gray samples of 0, of which the first counts, in strips of `rows` rows.
    private static func tiff(_ side: Int, samples: Int, bits: Int, rows: Int) -> [UInt8] {
        let strip = [UInt8](repeating: 0, count: (side * samples * bits + 7) / 8 * rows)
        return TIFFFile.bytes(
            [
                256: [side], 257: [side], 258: Array(repeating: bits, count: samples), 262: [1], 277: [samples],
                278: [rows], 284: [1], 339: Array(repeating: bits == 32 ? 3 : 1, count: samples),
            ], parts: Array(repeating: strip, count: side / rows))
    }

    @Test("the memory of a TIFF is that of its strips, however many and wide its samples are")
    func memoryOfTIFFIsThatOfItsStrips() throws {
        if let reason = try Self.decoder.reasonAgainst(.tiff) {
            print("skipped: \(reason)")
            return
        }
        for (samples, bits) in [(1, 1), (3, 16), (64, 32), (200, 32)] {
            for rows in [100, 1] {
                let file = Self.tiff(100, samples: samples, bits: bits, rows: rows)
                let picture = try file.withUnsafeBytes { try Self.decoder.open($0, format: .tiff) { false } }
                // libtiff reads a strip from a copy of the file's bytes.
                let strip = (100 * samples * bits + 7) / 8 * rows
                let needed = 100 * 100 * 4 + strip + file.count
                #expect(picture.memory >= needed, "\(samples) samples of \(bits) bits, \(rows) rows")
                #expect(picture.memory <= needed + 3 * file.count + 3 << 20)
                #expect(try picture.decode { false }.info.width == 100)
            }
        }
    }

    @Test("a BMP takes the memory of its file and pixels, and 64 KiB")
    func memoryOfBMP() throws {
        let file = Self.bitmap(width: 300, height: 200, runs: [0, 1])
        let picture = try file.withUnsafeBytes { try Self.decoder.open($0, format: .bmp) { false } }
        #expect(picture.memory == file.count + 300 * 200 * 4 + 64 << 10)
    }

    /// An 8-bit BMP with run-length encoding.
    private static func bitmap(width: Int, height: Int, runs: [UInt8]) -> [UInt8] {
        func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        var file = Array("BM".utf8)
        for value in [0, 0, 54 + 1024, 40, width, height, 1 | 8 << 16, 1, 0, 0, 0, 0, 0] { file += number(value) }
        for level in 0..<256 { file += number(level) }
        return file + runs
    }

    /// The time is processor time. It used to be four times the limit of this picture.
    @Test("a BMP of 1 x 2 pixels with 9 million runs past its row's end is decoded within its time")
    func runsPastTheRowTakeNoTime() throws {
        let runs = [[UInt8]](repeating: [255, 9], count: 9_000_000).flatMap { $0 }
        let image = try Self.decoder.pixels(
            Self.bitmap(width: 1, height: 2, runs: runs + [0, 0, 1, 7, 0, 1]), format: .bmp)
        #expect(image == [0, 0, 7, 0, 0, 9])
    }
}

import Dialects
import Observations
internal import SystemSupport
import Testing

/// Masks as Label Studio's run lengths. The expected bytes are those of `mask2rle` of label-studio-sdk 2.1.2
/// (`converter/brush.py`); its `decode_rle` gives the masks again.
struct BrushRunsTests {
    private struct Mask: CustomTestStringConvertible {
        let name: String
        let width: Int, height: Int
        let contains: @Sendable (_ x: Int, _ y: Int) -> Bool

        var testDescription: String { name }

        /// The runs of a mask that is written row by row, with the number 3 for its pixels.
        var rows: [Int] {
            var rows = MaskRows(width: width, height: height, maximum: 100_000)
            for y in 0..<height {
                let line = (0..<width).flatMap { x -> [UInt8] in contains(x, y) ? [1, 3] : [0, 0] }
                rows.add(row: y, line, bytes: 2)
            }
            return rows.finished.first { $0.number == 0x103 }?.runs ?? [width * height]
        }

        /// The runs of a mask down the columns.
        var columns: [Int] {
            var mask = RunLengths(width: width, height: height)
            for x in 0..<width {
                for y in 0..<height where contains(x, y) { mask.add(column: x, rows: y..<y + 1) }
            }
            mask.close()
            return MaskRows.runs(of: mask, maximum: 100_000) ?? [width * height]
        }
    }

    private static let small: [(Mask, [UInt8])] = [
        (Mask(name: "none", width: 3, height: 2) { _, _ in false }, [0, 0, 0, 24, 57, 27, 254, 23, 0, 0]),
        (Mask(name: "all", width: 3, height: 2) { _, _ in true }, [0, 0, 0, 24, 57, 27, 254, 23, 255, 0]),
        (
            Mask(name: "corner", width: 4, height: 3) { x, y in x >= 2 && y >= 1 },
            [0, 0, 0, 48, 57, 27, 254, 23, 0, 159, 254, 112, 9, 255, 192]
        ),
        (Mask(name: "last", width: 2, height: 1) { x, _ in x == 1 }, [0, 0, 0, 8, 57, 27, 252, 96, 17, 255, 128]),
        (
            Mask(name: "stripes", width: 9, height: 7) { x, y in (x * 7 + y * 3) % 5 < 2 },
            [0, 0, 0, 252, 57, 27, 252] + (0..<12).flatMap { _ -> [UInt8] in [127, 243, 128, 71, 255, 24, 4] }
                + [127, 243, 128, 0]
        ),
    ]

    @Test("masks have the bytes of Label Studio's own package")
    func smallMasks() {
        for (mask, expected) in Self.small {
            for runs in [mask.rows, mask.columns] {
                #expect(BrushRuns(pixels: mask.width * mask.height, runs: runs).bytes == expected, "\(mask.name)")
            }
        }
    }

    @Test("a mask of long and many runs has the bytes of Label Studio's own package")
    func largeMask() {
        let mask = Mask(name: "big", width: 700, height: 300) { x, y in y >= 150 || (x + y) % 97 == 0 }
        #expect(mask.rows.count == 2146 && mask.rows == mask.columns)
        let bytes = BrushRuns(pixels: 700 * 300, runs: mask.rows).bytes
        let digest = bytes.withUnsafeBytes { SHA256.text(SHA256.digest($0)) }
        #expect(bytes.count == 5505)
        #expect(digest == "66bf8cd023b0e4bec5df9e89a42cd8e735766398c35b1613d04aeb11eeaa373e")
    }

    @Test("masks with more runs than the maximum are cut or left out")
    func limits() {
        let mask = Mask(name: "noise", width: 40, height: 1) { x, _ in x % 2 == 0 }
        var rows = MaskRows(width: 40, height: 1, maximum: 10)
        rows.add(row: 0, (0..<40).map { UInt8(mask.contains($0, 0) ? 1 : 0) }, bytes: 1)
        #expect(rows.finished.reduce(0) { $0 + $1.runs.count } <= 12)
        #expect(rows.finished.allSatisfy { $0.runs.reduce(0, +) == 40 })
        var columns = RunLengths(width: 40, height: 1)
        for x in stride(from: 0, to: 40, by: 2) { columns.add(column: x, rows: 0..<1) }
        columns.close()
        #expect(MaskRows.runs(of: columns, maximum: 10) == nil)
        #expect(MaskRows.runs(of: RunLengths(width: 0, height: 0), maximum: 10) == [])
    }
}

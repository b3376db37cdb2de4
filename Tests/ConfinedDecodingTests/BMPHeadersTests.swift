import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// One picture has the same pixels whichever header its BMP has: Windows' of 40 to 124 bytes, OS/2's of 12, 16 and 64.
/// The colours are those that it was made from. Pillow reads these files so too, but for headers of 16 bytes, which it
/// does not read.
@Suite struct BMPHeadersTests {
    private static let decoder = Probe.decoder()
    private static let width = 7, height = 5

    enum Kind: String, CaseIterable, Sendable {
        case palette, colours, fields

        var bits: Int { self == .palette ? 8 : self == .colours ? 24 : 16 }
        /// OS/2's have no compression by fields of bits.
        var headers: [Int] { self == .fields ? [40, 52, 56, 108, 124] : [12, 16, 40, 52, 56, 64, 108, 124] }
    }

    @Test(
        "a BMP has the same pixels with each header",
        arguments: Kind.allCases.flatMap { kind in kind.headers.map { (kind, $0) } })
    func pixelsAreThoseOfEveryHeader(_ kind: Kind, _ header: Int) throws {
        var random = SplitMix(seed: SplitMix.seed(for: "pixelsAreThoseOfEveryHeader(\(kind), \(header))"))
        let colours = (0..<Self.width * Self.height).map { _ in
            (0..<3).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let file = Self.file(kind, header, colours)
        let image = try Self.decoder.decode(file, format: .bmp)
        let pipeline = try ImagePipeline(
            spec: ImageTensorSpec(width: Self.width, height: Self.height, cropAndScale: .scaleFill))
        var pixels = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
        _ = try pixels.withUnsafeMutableBytes { try pipeline.prepare(image, into: $0) }
        let expected = colours.flatMap { kind == .fields ? Self.restored($0) : $0 }
        #expect(pixels == expected)
    }

    /// A colour of 5, 6 and 5 bits in 8 bits each.
    private static func restored(_ colour: [UInt8]) -> [UInt8] {
        zip(colour, [5, 6, 5]).map { value, bits in
            let most = (1 << bits) - 1
            return UInt8((Int(value) >> (8 - bits)) * 255 / most)
        }
    }

    private static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// - Parameter colours: red, green and blue of each pixel, from the upper left.
    private static func file(_ kind: Kind, _ header: Int, _ colours: [[UInt8]]) -> [UInt8] {
        let isFirst = header == 12
        let masks = number(0xF800, 4) + number(0x7E0, 4) + number(0x1F, 4)
        var palette: [UInt8] = []
        if kind == .palette {
            for index in 0..<256 {
                let colour: [UInt8] = index < colours.count ? colours[index] : [0, 0, 0]
                palette.append(contentsOf: colour.reversed())
                if !isFirst { palette.append(0) }
            }
        } else if kind == .fields, header == 40 {
            palette = masks
        }
        let size = isFirst ? number(width, 2) + number(height, 2) : number(width, 4) + number(height, 4)
        var fields = number(header, 4) + size + number(1, 2) + number(kind.bits, 2)
        fields += number(kind == .fields ? 3 : 0, 4)
        // The size of the pixels, the resolutions, and the counts of colours are left out.
        fields += [UInt8](repeating: 0, count: 20) + (kind == .fields && header > 40 ? masks : [])
        fields += [UInt8](repeating: 0, count: max(0, header - fields.count))
        let start = 14 + header + palette.count
        var rows: [UInt8] = []
        for y in (0..<height).reversed() {
            var row: [UInt8] = []
            for x in 0..<width {
                let colour = colours[y * width + x]
                switch kind {
                case .palette: row.append(UInt8(y * width + x))
                case .colours: row += colour.reversed()
                case .fields:
                    let (red, green, blue) = (Int(colour[0]) >> 3, Int(colour[1]) >> 2, Int(colour[2]) >> 3)
                    row += number(red << 11 | green << 5 | blue, 2)
                }
            }
            rows += row + [UInt8](repeating: 0, count: (4 - row.count % 4) % 4)
        }
        return Array("BM".utf8) + number(start + rows.count, 4) + number(0, 4) + number(start, 4)
            + fields.prefix(header)
            + palette + rows
    }
}

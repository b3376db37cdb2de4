import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// A picture has the same pixels with every BMP header: Windows' of 40 to 124 bytes, OS/2's of 12, 16 and 64. The
/// expected colours are the original ones. Pillow reads these files equally, except those with headers of 16 bytes,
/// which it does not read.
@Suite struct BMPHeadersTests {
    private static let decoder = Probe.decoder()
    private static let width = 7, height = 5

    enum Kind: String, CaseIterable, Sendable {
        case palette, colours, fields

        var bits: Int { self == .palette ? 8 : self == .colours ? 24 : 16 }
        /// OS/2's headers have no bit field compression.
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
        let expected = colours.flatMap { kind == .fields ? Self.restored($0) : $0 }
        #expect(try Self.decoder.pixels(Self.file(kind, header, colours), format: .bmp) == expected)
    }

    enum Offset: CaseIterable, Sendable { case zero, palette }

    /// Some programs write no offset of the pixels, or that of the palette. Pillow reads these files too.
    @Test(
        "a BMP whose offset of the pixels is 0 or that of its palette has the same pixels",
        arguments: Offset.allCases,
        Kind.allCases.flatMap { kind in kind.headers.flatMap { header in [256, 40].map { (kind, header, $0) } } })
    func offsetThatIsMissingIsThePalettesEnd(_ offset: Offset, _ form: (Kind, Int, Int)) throws {
        let (kind, header, entries) = form
        // Only later headers contain the number of colours in the palette; pixels without a palette follow the header.
        guard header >= 40 || entries == 256, offset == .zero || kind == .palette else { return }
        var random = SplitMix(seed: SplitMix.seed(for: "offsetThatIsMissing(\(offset), \(kind), \(header))"))
        let colours = (0..<Self.width * Self.height).map { _ in
            (0..<3).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        var file = Self.file(kind, header, colours, entries: entries)
        file.replaceSubrange(10..<14, with: Self.number(offset == .zero ? 0 : 14 + header, 4))
        #expect(
            try Self.decoder.pixels(file, format: .bmp) == colours.flatMap { kind == .fields ? Self.restored($0) : $0 })
    }

    @Test("a BMP whose pixels begin within its header is refused with both bytes")
    func offsetWithinTheHeaderIsRefused() throws {
        let colours = [[UInt8]](repeating: [1, 2, 3], count: Self.width * Self.height)
        var file = Self.file(.colours, 40, colours)
        file.replaceSubrange(10..<14, with: Self.number(20, 4))
        #expect(throws: ImageError.corrupt("BMP: its pixels begin at byte 20, within its headers of 54 bytes")) {
            _ = try Self.decoder.decode(file, format: .bmp)
        }
    }

    /// A colour of 5, 6 and 5 bits, with each channel scaled to 8 bits.
    private static func restored(_ colour: [UInt8]) -> [UInt8] {
        zip(colour, [5, 6, 5]).map { value, bits in
            let maximum = (1 << bits) - 1
            return UInt8((Int(value) >> (8 - bits)) * 255 / maximum)
        }
    }

    private static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// - Parameters:
    ///   - colours: red, green and blue of each pixel, from the upper left.
    ///   - entries: the number of colours in the palette.
    private static func file(
        _ kind: Kind, _ header: Int, _ colours: [[UInt8]], entries: Int = 256
    ) -> [UInt8] {
        let isFirst = header == 12
        let masks = number(0xF800, 4) + number(0x7E0, 4) + number(0x1F, 4)
        var palette: [UInt8] = []
        if kind == .palette {
            for index in 0..<entries {
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
        // The size of the pixels, the resolutions, and the number of important colours are 0.
        fields += [UInt8](repeating: 0, count: 12) + number(kind == .palette ? entries % 256 : 0, 4) + number(0, 4)
        fields += (kind == .fields && header > 40 ? masks : [])
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

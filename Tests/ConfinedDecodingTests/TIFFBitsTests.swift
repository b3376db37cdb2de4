import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// TIFFs of 1 to 16 bits per sample have the original levels: the upper 8 bits of more, and 0 to 255 for fewer.
/// tifffile reads the samples equally; Pillow reads few of these depths.
@Suite struct TIFFBitsTests {
    private static let decoder = Probe.decoder()
    private static let width = 21, height = 17

    enum Kind: String, CaseIterable, Sendable {
        case blackIsZero, whiteIsZero, colours, opacity, planes, palette

        var photometric: Int {
            switch self {
            case .whiteIsZero: 0
            case .blackIsZero: 1
            case .colours, .opacity, .planes: 2
            case .palette: 3
            }
        }
        var samples: Int { self == .opacity ? 4 : self == .colours || self == .planes ? 3 : 1 }
    }

    @Test(
        "a TIFF of 1 to 16 bits for each sample has the levels that it was made from",
        arguments: Kind.allCases, Array(1...16))
    func levelsAreThoseThatItWasMadeFrom(_ kind: Kind, _ bits: Int) throws {
        // A palette for more bits would be larger than its picture.
        guard kind != .palette || bits <= 8 else { return }
        if let reason = try Self.decoder.reasonAgainst(.tiff) {
            print("skipped: \(reason)")
            return
        }
        var random = SplitMix(seed: SplitMix.seed(for: "levelsAreThoseThatItWasMadeFrom(\(kind), \(bits))"))
        let maximum = 1 << bits - 1
        var values = (0..<Self.width * Self.height * kind.samples).map { _ in
            Int.random(in: 0...maximum, using: &random)
        }
        // Composing other opacities with a background would hide levels.
        if kind == .opacity { for index in stride(from: 3, to: values.count, by: 4) { values[index] = maximum } }
        let colours = (0..<3 << bits).map { _ in Int.random(in: 0...65_535, using: &random) }
        let pixels = try Self.decoder.pixels(Self.file(kind, bits, values, colours), format: .tiff)
        let expected = stride(from: 0, to: values.count, by: kind.samples).flatMap { first -> [Int] in
            switch kind {
            case .palette: (0..<3).map { colours[$0 << bits + values[first]] >> 8 }
            case .blackIsZero: Array(repeating: Self.level(values[first], bits), count: 3)
            case .whiteIsZero: Array(repeating: 255 - Self.level(values[first], bits), count: 3)
            case .colours, .opacity, .planes: (0..<3).map { Self.level(values[first + $0], bits) }
            }
        }
        #expect(pixels.map(Int.init) == expected)
    }

    private static func level(_ value: Int, _ bits: Int) -> Int {
        bits >= 8 ? value >> (bits - 8) : Int((Double(value) * 255 / Double(1 << bits - 1)).rounded())
    }

    /// - Parameters:
    ///   - values: the samples, pixel by pixel.
    ///   - colours: the palette: red, green and blue of all its colours.
    private static func file(_ kind: Kind, _ bits: Int, _ values: [Int], _ colours: [Int]) -> [UInt8] {
        // Rows are packed, most significant bit first, and end with whole bytes. Samples of 16 bits have the byte order
        // of the file.
        func row(_ samples: [Int]) -> [UInt8] {
            var digits = samples.flatMap { value in
                bits == 16
                    ? (0..<16).map { (value << 8 | value >> 8) >> (15 - $0) & 1 }
                    : (0..<bits).map { value >> (bits - 1 - $0) & 1 }
            }
            digits += Array(repeating: 0, count: (8 - digits.count % 8) % 8)
            return stride(from: 0, to: digits.count, by: 8).map { start in
                UInt8(digits[start..<start + 8].reduce(0) { $0 << 1 | $1 })
            }
        }
        let count = kind.samples, planes = kind == .planes ? Array(0..<3) : [0]
        let parts = planes.map { plane in
            (0..<height).flatMap { y -> [UInt8] in
                let start = y * width * count
                let samples = Array(values[start..<start + width * count])
                return row(
                    kind == .planes ? stride(from: plane, to: samples.count, by: 3).map { samples[$0] } : samples)
            }
        }
        var tags = [
            256: [width], 257: [height], 258: Array(repeating: bits, count: count), 262: [kind.photometric],
            277: [count],
            278: [height], 284: [kind == .planes ? 2 : 1],
        ]
        if kind == .palette { tags[320] = colours }
        if kind == .opacity { tags[338] = [2] }
        return TIFFFile.bytes(tags, parts: parts)
    }
}

import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// TIFFs with samples stored plane by plane have the same pixels as those stored pixel by pixel, which other tests
/// compare with Pillow's. Pillow itself reads planes wrongly: uncompressed ones of 16 bits (it takes halves of samples
/// for samples), the opacity of gray ones, and those with reversed bits. tifffile reads all of them as this decoder
/// does.
@Suite struct TIFFPlanesTests {
    private static let decoder = Probe.decoder()

    struct Kind: Sendable, CustomTestStringConvertible {
        let photometric: Int, samples: Int, bits: Int, isTiled: Bool, isBig: Bool
        /// True if bits are stored from the least to the most significant.
        var isReversed = false

        var testDescription: String {
            "photometric \(photometric), \(samples) samples of \(bits) bits\(isTiled ? ", tiles" : "")\(isReversed ? ", reversed" : "")"
        }
    }

    static let kinds: [Kind] =
        [(1, 2), (2, 3), (2, 4), (5, 4)].flatMap { photometric, samples in
            [8, 16].flatMap { bits in
                [false, true].map {
                    Kind(photometric: photometric, samples: samples, bits: bits, isTiled: $0, isBig: $0 == (bits == 8))
                }
            }
        } + [Kind(photometric: 2, samples: 3, bits: 8, isTiled: false, isBig: false, isReversed: true)]

    private static let width = 21, height = 17, side = 16

    @Test("a TIFF stored plane by plane has the same pixels as stored pixel by pixel", arguments: kinds)
    func planesHaveThePixelsOfInterleavedSamples(_ kind: Kind) throws {
        if let reason = try Self.decoder.reasonAgainst(.tiff) {
            print("skipped: \(reason)")
            return
        }
        var random = SplitMix(seed: SplitMix.seed(for: "planesHaveThePixels(\(kind.testDescription))"))
        let values = (0..<Self.width * Self.height * kind.samples).map { _ in
            UInt16.random(in: 0...65_535, using: &random)
        }
        let planes = try Self.decoder.pixels(Self.file(kind, values, arePlanes: true), format: .tiff)
        #expect(try planes == Self.decoder.pixels(Self.file(kind, values, arePlanes: false), format: .tiff))
        #expect(Set(planes).count > 100)
    }

    /// - Parameter values: the samples, pixel by pixel; for 8 bits, the upper half of each.
    private static func file(_ kind: Kind, _ values: [UInt16], arePlanes: Bool) -> [UInt8] {
        func number(_ value: Int, _ bytes: Int) -> [UInt8] {
            (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (kind.isBig ? bytes - 1 - $0 : $0))) }
        }
        func sample(_ x: Int, _ y: Int, _ index: Int) -> [UInt8] {
            guard x < width, y < height else { return number(0, kind.bits / 8) }
            let value = Int(values[(y * width + x) * kind.samples + index]) >> (16 - kind.bits)
            return number(kind.isReversed ? reversed(value) : value, kind.bits / 8)
        }
        let columns = kind.isTiled ? side : width
        let rows = kind.isTiled ? side : 5
        var parts: [[UInt8]] = []
        for plane in 0..<(arePlanes ? kind.samples : 1) {
            for top in stride(from: 0, to: height, by: rows) {
                for left in stride(from: 0, to: width, by: columns) {
                    let bottom = kind.isTiled ? top + rows : min(top + rows, height)
                    parts.append(
                        (top..<bottom).flatMap { y in
                            (left..<left + columns).flatMap { x in
                                (arePlanes ? plane..<plane + 1 : 0..<kind.samples).flatMap { sample(x, y, $0) }
                            }
                        })
                }
            }
        }
        let sizes = kind.isTiled ? [322: [columns], 323: [rows]] : [278: [rows]]
        var tags = [
            256: [width], 257: [height], 258: Array(repeating: kind.bits, count: kind.samples),
            262: [kind.photometric], 266: [kind.isReversed ? 2 : 1], 277: [kind.samples], 284: [arePlanes ? 2 : 1],
        ]
        tags.merge(sizes) { first, _ in first }
        if kind.photometric == 1 || kind.samples == 4 && kind.photometric == 2 { tags[338] = [2] }
        return TIFFFile.bytes(tags, parts: parts, isBig: kind.isBig)
    }

    private static func reversed(_ byte: Int) -> Int {
        (0..<8).reduce(0) { $0 | (byte >> $1 & 1) << (7 - $1) }
    }
}

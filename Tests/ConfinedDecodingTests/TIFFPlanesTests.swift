import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// TIFFs whose samples are stored plane by plane have the pixels of those with the same samples pixel by pixel, which
/// other tests compare with Pillow's. Pillow itself reads planes wrongly: those of 16 bits that are not compressed (it
/// takes halves of samples for samples), the opacity of gray ones, and those with reversed bits. tifffile reads all of
/// them as this decoder does.
@Suite struct TIFFPlanesTests {
    private static let decoder = Probe.decoder()

    struct Kind: Sendable, CustomTestStringConvertible {
        let photometric: Int, samples: Int, bits: Int, isTiled: Bool, isBig: Bool
        /// True for bits from the least to the most significant.
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
        let planes = try Self.pixels(Self.file(kind, values, arePlanes: true))
        #expect(try planes == Self.pixels(Self.file(kind, values, arePlanes: false)))
        #expect(Set(planes).count > 100)
    }

    private static func pixels(_ file: [UInt8]) throws -> [UInt8] {
        let image = try decoder.decode(file, format: .tiff)
        let pipeline = try ImagePipeline(
            spec: ImageTensorSpec(width: width, height: height, cropAndScale: .scaleFill))
        var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
        _ = try tensor.withUnsafeMutableBytes { try pipeline.prepare(image, into: $0) }
        return tensor
    }

    /// - Parameter values: the samples, pixel by pixel; of those of 8 bits the upper half.
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
        let start = 8
        let offsets = parts.indices.map { index in start + parts[..<index].map(\.count).reduce(0, +) }
        let sizes = kind.isTiled ? [(322, [columns]), (323, [rows])] : [(278, [rows])]
        let extra = kind.photometric == 1 || kind.samples == 4 && kind.photometric == 2 ? [(338, [2])] : []
        let tags =
            ([
                (256, [width]), (257, [height]), (258, Array(repeating: kind.bits, count: kind.samples)), (259, [1]),
                (262, [kind.photometric]), (266, [kind.isReversed ? 2 : 1]), (277, [kind.samples]),
                (284, [arePlanes ? 2 : 1]), (kind.isTiled ? 324 : 273, offsets),
                (kind.isTiled ? 325 : 279, parts.map(\.count)),
            ] + sizes + extra).sorted { $0.0 < $1.0 }
        let directory = start + parts.map(\.count).reduce(0, +)
        var behind: [UInt8] = []
        var entries: [UInt8] = []
        for (tag, values) in tags {
            // All of them as LONG, but those that have to be SHORT.
            let size = [258, 259, 262, 266, 277, 284, 338].contains(tag) ? 2 : 4
            let bytes = values.flatMap { number($0, size) }
            entries += number(tag, 2) + number(size == 2 ? 3 : 4, 2) + number(values.count, 4)
            if bytes.count <= 4 {
                entries += bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
            } else {
                entries += number(directory + 2 + 12 * tags.count + 4 + behind.count, 4)
                behind += bytes
            }
        }
        return Array((kind.isBig ? "MM" : "II").utf8) + number(42, 2) + number(directory, 4) + parts.flatMap { $0 }
            + number(tags.count, 2) + entries + number(0, 4) + behind
    }

    private static func reversed(_ byte: Int) -> Int {
        (0..<8).reduce(0) { $0 | (byte >> $1 & 1) << (7 - $1) }
    }
}

import CResample
import TestSupport
import Testing

/// The loops for rows of raw frames give the same bytes with every instruction set, and touch no others.
@Suite struct FrameLoopTests {
    private static let levels = [CRESAMPLE_PORTABLE, CRESAMPLE_AVX2, CRESAMPLE_VNNI].filter {
        $0.rawValue <= cresample_best().rawValue
    }

    /// Bytes of which many are extreme.
    private static func bytes(_ count: Int, _ random: inout SplitMix) -> [UInt8] {
        (0..<count).map { _ in [0, 255, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0 }
    }

    @Test("pixels are reordered as byte by byte, and opaque rows are told from others", arguments: 0...70)
    func reordering(_ count: Int) {
        var random = SplitMix(seed: UInt64(count))
        for (order, places) in [
            (CRESAMPLE_RGBA, [0, 1, 2, 3]), (CRESAMPLE_BGRA, [2, 1, 0, 3]), (CRESAMPLE_ARGB, [1, 2, 3, 0]),
        ] {
            for isOpaque in [true, false] {
                var source = Self.bytes(count * 4, &random)
                if isOpaque { for pixel in 0..<count { source[pixel * 4 + places[3]] = 255 } }
                if !isOpaque, count > 0 { source[Int.random(in: 0..<count, using: &random) * 4 + places[3]] = 254 }
                let expected = (0..<count).flatMap { pixel in places.map { source[pixel * 4 + $0] } }
                for level in Self.levels {
                    var result = [UInt8](repeating: 0xA5, count: count * 4 + 8)
                    let answer = cresample_reorder(level, source, count, order, &result)
                    #expect((answer == 1) == (isOpaque || count == 0))
                    // Nothing is written for pixels that are in order.
                    let written = order == CRESAMPLE_RGBA ? [UInt8](repeating: 0xA5, count: count * 4) : expected
                    #expect(result == written + [UInt8](repeating: 0xA5, count: 8), "level \(level.rawValue)")
                }
            }
        }
    }

    @Test("pixels of three bytes are expanded as byte by byte", arguments: 0...70)
    func expansion(_ count: Int) {
        var random = SplitMix(seed: UInt64(count))
        let source = Self.bytes(count * 3, &random)
        for (reversed, places) in [(Int32(0), [0, 1, 2]), (1, [2, 1, 0])] {
            let expected = (0..<count).flatMap { pixel -> [UInt8] in places.map { source[pixel * 3 + $0] } + [255] }
            for level in Self.levels {
                var result = [UInt8](repeating: 0xA5, count: count * 4 + 8)
                cresample_expand(level, source, count, reversed, &result)
                #expect(result == expected + [UInt8](repeating: 0xA5, count: 8), "level \(level.rawValue)")
            }
        }
    }

    @Test("luma and chroma are converted as in 64-bit sums", arguments: 0...70, [1, 2])
    func conversion(_ count: Int, step: Int) {
        var random = SplitMix(seed: UInt64(count * 2 + step))
        let luma = Self.bytes(count, &random), chroma = Self.bytes((count + 1) / 2 * 2 + 2, &random)
        var factors = cresample_yuv(
            luma: 76309, red: 104_597, green_of_blue: -25_675, green_of_red: -53_279, blue: 132_201)
        func level(_ sum: Int64) -> UInt8 { UInt8(max(0, min(255, (sum + 1 << 15) >> 16))) }
        let second = step == 2 ? 1 : (count + 1) / 2
        var expected: [UInt8] = []
        for x in 0..<count {
            let y = Int64(luma[x]) - 16, u = Int64(chroma[x / 2 * step]) - 128
            let v = Int64(chroma[second + x / 2 * step]) - 128
            expected += [
                level(y * 76309 + v * 104_597), level(y * 76309 - u * 25_675 - v * 53_279),
                level(y * 76309 + u * 132_201), 255,
            ]
        }
        for variant in Self.levels {
            var result = [UInt8](repeating: 0xA5, count: count * 4 + 8)
            chroma.withUnsafeBufferPointer { chroma in
                guard let base = chroma.baseAddress else { return }
                cresample_convert(variant, luma, base, base + second, step, count, &factors, &result)
            }
            #expect(result == expected + [UInt8](repeating: 0xA5, count: 8), "level \(variant.rawValue)")
        }
    }
}

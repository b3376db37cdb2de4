import CResample
import TestSupport
import Testing

/// Compares the loops for this processor and the portable ones with plain sums, bit for bit, for random weights.
@Suite struct ResampleLoopTests {
    static let seeds: ClosedRange<UInt64> = 1...60

    /// Levels, and a random factor for each tap; the ends of the range are frequent.
    private struct Axis {
        var random: SplitMix
        let taps: Int
        let outputs: Int
        let starts: [Int32]
        let factors: [Int32]
        let pixels: Int

        init(seed: UInt64, tapsInWhole whole: Int, outputsInWhole group: Int) {
            var random = SplitMix(seed: seed)
            let taps = whole * Int.random(in: 1...8, using: &random)
            let outputs = group * Int.random(in: 1...20, using: &random)
            let last = Int.random(in: 0...50, using: &random)
            starts = (0..<outputs).map { _ in Int32.random(in: 0...Int32(last), using: &random) }
            // The sum stays within 32 bits, as for real weights.
            let largest = Int32(1) << 22
            let extremes = [0, -1, 1, largest / Int32(taps)]
            factors = (0..<outputs * taps).map { _ in
                Bool.random(using: &random)
                    ? Int32.random(in: -largest / 4...largest, using: &random) / Int32(taps)
                    : extremes.randomElement(using: &random) ?? 0
            }
            pixels = taps + last
            self.random = random
            self.taps = taps
            self.outputs = outputs
        }

        mutating func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in
                [0, 255, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
            }
        }

        /// For each group of factors: their high halves, then their low halves.
        func halves(_ factors: [Int32], inGroupsOf group: Int) -> [Int16] {
            stride(from: 0, to: factors.count, by: group).flatMap { start in
                let part = factors[start..<start + group]
                return part.map { Int16($0 >> 15) } + part.map { Int16($0 & 0x7FFF) }
            }
        }
    }

    private static func level(_ sum: Int64) -> UInt8 { UInt8(max(0, min(255, (sum + 1 << 21) >> 22))) }

    private static let levels = [CRESAMPLE_PORTABLE, CRESAMPLE_AVX2, CRESAMPLE_VNNI].filter {
        $0.rawValue <= cresample_best().rawValue
    }

    @Test("the horizontal resampling pass equals the plain sums with every instruction set", arguments: seeds, [1, 4])
    func horizontalPass_everyInstructionSet_equalsThePlainLoop(
        _ seed: UInt64, channels: Int
    ) {
        let group = channels == 1 ? 16 : 4
        var axis = Axis(seed: seed, tapsInWhole: group, outputsInWhole: 4)
        let row = axis.bytes(axis.pixels * channels)
        let expected = (0..<axis.outputs * channels).map { place in
            let (output, channel) = (place / channels, place % channels)
            return Self.level(
                (0..<axis.taps).reduce(0) { sum, tap in
                    sum + Int64(row[(Int(axis.starts[output]) + tap) * channels + channel])
                        * Int64(axis.factors[output * axis.taps + tap])
                })
        }
        let halves = axis.halves(axis.factors, inGroupsOf: group)
        let loop = channels == 1 ? cresample_horizontal_gray : cresample_horizontal
        for level in Self.levels {
            var result = [UInt8](repeating: 0, count: expected.count)
            axis.starts.withUnsafeBufferPointer { starts in
                halves.withUnsafeBufferPointer { halves in
                    var weights = cresample_weights(
                        starts: starts.baseAddress, halves: halves.baseAddress, taps: axis.taps, outputs: axis.outputs)
                    loop(level, &weights, row, &result)
                }
            }
            #expect(result == expected, "seed \(seed), level \(level.rawValue)")
        }
    }

    @Test("the vertical resampling pass equals the plain sums with every instruction set", arguments: seeds)
    func verticalPass_everyInstructionSet_equalsThePlainLoop(_ seed: UInt64) {
        var axis = Axis(seed: seed, tapsInWhole: 2, outputsInWhole: 1)
        let count = axis.taps - Int.random(in: 0...1, using: &axis.random)
        let capacity = count + Int.random(in: 0...3, using: &axis.random)
        let first = Int.random(in: 0..<capacity, using: &axis.random)
        let bytes = Int.random(in: 1...200, using: &axis.random)
        let stride = (bytes + 63) & ~63
        let ring = axis.bytes(stride * capacity)
        // The row after an odd last row has no effect.
        let factors = (0..<axis.taps).map { $0 < count ? axis.factors[$0] : 0 }
        let expected = (0..<bytes).map { place in
            Self.level(
                (0..<count).reduce(0) { sum, tap in
                    sum + Int64(ring[(first + tap) % capacity * stride + place]) * Int64(factors[tap])
                })
        }
        let halves = axis.halves(factors, inGroupsOf: 2)
        for level in Self.levels {
            var result = [UInt8](repeating: 0, count: stride)
            ring.withUnsafeBufferPointer { ring in
                var rows = cresample_rows(
                    ring: ring.baseAddress, stride: stride, capacity: capacity, first: first, count: count)
                cresample_vertical(level, &rows, halves, bytes, &result)
            }
            #expect(Array(result.prefix(bytes)) == expected, "seed \(seed), level \(level.rawValue)")
        }
    }

    @Test(
        "dropping alpha equals the plain loop with every instruction set, without writing past the end",
        arguments: 0...40, [false, true])
    func droppedAlpha_everyInstructionSet_equalsThePlainLoop(
        _ count: Int, reversed: Bool
    ) {
        let pixels = (0..<count * 4).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let expected = (0..<count).flatMap { pixel in
            (reversed ? [2, 1, 0] : [0, 1, 2]).map { pixels[pixel * 4 + $0] }
        }
        for level in Self.levels {
            // No byte after the last pixel is written.
            var result = [UInt8](repeating: 0xEE, count: count * 3 + 20)
            cresample_pack(level, pixels, count, reversed ? 1 : 0, &result)
            #expect(result == expected + [UInt8](repeating: 0xEE, count: 20), "level \(level.rawValue)")
        }
    }
}

/// Writes masks as Label Studio's run lengths, which its editor and its SDK decode: 32 bits with the number of bytes of
/// a picture in RGBA; 5 bits with the length of a value less one; 4 times 4 bits with the lengths of counts less one;
/// then the runs, each a bit (1: one value, repeated), 2 bits with the length of its count, the count less one, the
/// value.
package struct BrushRuns {
    package private(set) var bytes: [UInt8] = []
    private var buffer: UInt64 = 0
    private var held = 0

    /// The bits of a value, and of the four lengths of counts.
    private static let valueBits = 8, countBits = [3, 4, 8, 16]
    private static let longest = 1 << 16

    /// The mask of a picture.
    /// - Parameters:
    ///   - pixels: the number of pixels, at most 2^30 - 1.
    ///   - runs: the lengths of alternating runs of pixels, row by row, beginning with those out of the mask; their sum
    ///     is `pixels`.
    package init(pixels: Int, runs: [Int]) {
        add(4 * pixels, bits: 32)
        add(Self.valueBits - 1, bits: 5)
        for length in Self.countBits { add(length - 1, bits: 4) }
        for (index, run) in runs.enumerated() { add(run: 4 * run, of: index & 1 == 0 ? 0 : 255) }
        // The decoder reads beyond the last run of a text without bits to spare.
        add(0, bits: 8 - held % 8)
    }

    private mutating func add(run: Int, of value: Int) {
        var rest = run
        while rest > 0 {
            let count = min(rest, Self.longest)
            let place = Self.countBits.firstIndex { count <= 1 << $0 } ?? 3
            add(1, bits: 1)
            add(place, bits: 2)
            add(count - 1, bits: Self.countBits[place])
            add(value, bits: Self.valueBits)
            rest -= count
        }
    }

    private mutating func add(_ value: Int, bits: Int) {
        buffer = buffer << UInt64(bits) | UInt64(truncatingIfNeeded: value)
        held += bits
        while held >= 8 {
            held -= 8
            bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt64(held)))
        }
    }
}

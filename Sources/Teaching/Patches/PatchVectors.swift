/// The vectors of some patches: their directions, in 16 bits a number. Each vector is scaled such that its greatest
/// number is 32,767 or -32,767, and rounded to whole numbers, ties to even. That changes a cosine by a few millionths.
///
/// The cosine of two patches is that of these rounded directions, computed in 32 bits in a fixed order. So it has the
/// same bits whichever patch is compared with which, and in every block of ``PatchBlock``. It is 0 for a vector of
/// zeros.
package struct PatchVectors: Sendable, Equatable {
    /// The number of patches, and of the elements of each.
    package let count: Int, width: Int
    /// The numbers in pairs, row by row: the first of a pair is the lower half of its word. A row is padded with zeros
    /// to a multiple of eight words.
    private let words: [UInt32]
    /// The inverse of the length of each vector of whole numbers; 0 for zeros.
    private let inverses: [Float]

    /// The number of words of a row.
    private var stride: Int { Self.stride(width) }
    static func stride(_ width: Int) -> Int { (width + 15) / 16 * 8 }

    /// Rounds the directions of vectors, one after another. Fails if they do not have the size, or for a number that is
    /// not finite.
    package init?(_ values: [Float], width: Int) {
        guard width > 0, values.count % width == 0, values.allSatisfy(\.isFinite) else { return nil }
        let count = values.count / width, stride = Self.stride(width)
        var words = [UInt32](repeating: 0, count: count * stride)
        values.withUnsafeBufferPointer { values in
            for row in 0..<count {
                let vector = UnsafeBufferPointer(rebasing: values[row * width..<(row + 1) * width])
                let greatest = vector.reduce(0) { max($0, abs($1)) }
                guard greatest > 0 else { continue }
                for index in 0..<width {
                    let number = (Double(vector[index]) / Double(greatest) * 32_767).rounded(.toNearestOrEven)
                    words[row * stride + index / 2] |=
                        UInt32(UInt16(bitPattern: Int16(number))) << (index % 2 == 0 ? 0 : 16)
                }
            }
        }
        self.init(words, count: count, width: width)
    }

    private init(_ words: [UInt32], count: Int, width: Int) {
        (self.count, self.width, self.words) = (count, width, words)
        let stride = Self.stride(width)
        var inverses: [Float] = []
        inverses.reserveCapacity(count)
        for row in 0..<count {
            let wide = Self.wide(words[row * stride..<(row + 1) * stride])
            let square = words.withUnsafeBytes { words in
                wide.withUnsafeBufferPointer { wide in
                    PatchBlock.product(words.baseAddress.unsafelyUnwrapped + row * stride * 4, wide, stride / 8)
                }
            }
            inverses.append(square == 0 ? 0 : Float(1 / Double(square).squareRoot()))
        }
        self.inverses = inverses
    }

    /// A row in 32 bits: the even and the odd elements of each 16, by turns.
    private static func wide(_ row: ArraySlice<UInt32>) -> [SIMD8<Float>] {
        var wide: [SIMD8<Float>] = []
        wide.reserveCapacity(row.count / 4)
        for start in Swift.stride(from: row.startIndex, to: row.endIndex, by: 8) {
            var even = SIMD8<Float>.zero, odd = SIMD8<Float>.zero
            for lane in 0..<8 {
                even[lane] = Float(Int16(truncatingIfNeeded: row[start + lane]))
                odd[lane] = Float(Int16(truncatingIfNeeded: row[start + lane] >> 16))
            }
            wide += [even, odd]
        }
        return wide
    }

    /// A patch's direction in 32 bits.
    func wide(_ row: Int) -> [SIMD8<Float>] { Self.wide(words[row * stride..<(row + 1) * stride]) }

    func inverse(_ row: Int) -> Float { inverses[row] }

    /// Calls `body` with the words of a row and the inverse of its length.
    @inline(__always)
    func withRows<Result>(_ body: (UnsafeRawPointer, UnsafePointer<Float>) -> Result) -> Result? {
        words.withUnsafeBytes { words in
            inverses.withUnsafeBufferPointer { inverses in
                guard let start = words.baseAddress, let first = inverses.baseAddress else { return nil }
                return body(start, first)
            }
        }
    }

    // MARK: Bytes

    /// The numbers of all patches, without padding, little-endian.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * width * 2)
        for row in 0..<count {
            for index in 0..<width {
                let number = words[row * stride + index / 2] >> (index % 2 == 0 ? 0 : 16)
                bytes.append(UInt8(truncatingIfNeeded: number))
                bytes.append(UInt8(truncatingIfNeeded: number >> 8))
            }
        }
        return bytes
    }

    /// Reads ``bytes``. Fails for another number of bytes.
    package init?(bytes: UnsafeRawBufferPointer, count: Int, width: Int) {
        guard count >= 0, width > 0 else { return nil }
        let (numbers, isLarge) = count.multipliedReportingOverflow(by: width)
        guard !isLarge, bytes.count % 2 == 0, numbers == bytes.count / 2 else { return nil }
        let stride = Self.stride(width)
        var words = [UInt32](repeating: 0, count: count * stride)
        for row in 0..<count {
            for index in 0..<width {
                let place = (row * width + index) * 2
                let number = UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8
                words[row * stride + index / 2] |= number << (index % 2 == 0 ? 0 : 16)
            }
        }
        self.init(words, count: count, width: width)
    }

    /// Some of the patches, in their order.
    func chosen(_ rows: [Int]) -> PatchVectors {
        var words: [UInt32] = []
        for row in rows { words += self.words[row * stride..<(row + 1) * stride] }
        return PatchVectors(words: words, inverses: rows.map { inverses[$0] }, width: width)
    }

    private init(words: [UInt32], inverses: [Float], width: Int) {
        (self.words, self.inverses, self.width, count) = (words, inverses, width, inverses.count)
    }

    /// The cosine distance that belongs to a cosine, 0 to 2. The directions of equal patches differ from 1 by less than
    /// the arithmetic's rounding, which counts as 0.
    @inline(__always)
    static func distance(_ cosine: Float) -> Float {
        let distance = 1 - cosine
        return distance < 0x1p-21 ? 0 : min(distance, 2)
    }
}

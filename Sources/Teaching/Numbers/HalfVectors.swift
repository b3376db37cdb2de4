/// The directions of some embeddings in 16 bits a number (the upper half of a 32-bit number), for a first pass over
/// many of them: it reads half as many bytes as the embeddings themselves. Each direction has a bound of its rounding,
/// so the pass excludes only what cannot be among the nearest.
struct HalfVectors: Sendable {
    /// The numbers, row by row, in pairs: the first of a pair is the lower half of its word.
    private let words: [UInt32]
    /// The length of each direction's rounding error.
    private let errors: [Float]
    /// The number of words of a row: a multiple of eight.
    private let width: Int

    /// Rounds the directions of embeddings of one dimension.
    init(_ rows: [[Float]], dimension: Int) {
        let width = Self.width(dimension)
        var errors: [Float] = []
        errors.reserveCapacity(rows.count)
        words = [UInt32](unsafeUninitializedCapacity: rows.count * width) { words, count in
            words.initialize(repeating: 0)
            for (row, values) in rows.enumerated() where values.count == dimension {
                let first = row * width
                let piece = UnsafeMutableBufferPointer(rebasing: words[first..<first + width])
                errors.append(values.withUnsafeBufferPointer { Self.round($0, to: piece) })
            }
            count = rows.count * width
        }
        self.errors = errors
        self.width = width
    }

    /// The number of rows.
    var count: Int { errors.count }

    private static func width(_ dimension: Int) -> Int { (dimension + 15) / 16 * 8 }

    /// Writes the rounded direction of an embedding; zeros if it has none.
    /// - Returns: the length of the difference.
    private static func round(
        _ values: UnsafeBufferPointer<Float>, to words: UnsafeMutableBufferPointer<UInt32>
    ) -> Float {
        let square = Vectors.square(values)
        guard square > 0 else { return 0 }
        let factor = 1 / square.squareRoot()
        var error = 0.0
        for index in values.indices {
            let exact = Double(values[index]) * factor
            let bits = Float(exact).bitPattern
            // To nearest, ties to even. A direction's numbers are at most 1, so nothing overflows.
            let upper = (bits &+ 0x7FFF &+ (bits >> 16 & 1)) & 0xFFFF_0000
            let difference = exact - Double(Float(bitPattern: upper))
            error += difference * difference
            words[index / 2] |= index % 2 == 0 ? upper >> 16 : upper
        }
        return Float(error.squareRoot())
    }

    /// A direction to compare the rows with.
    struct Query: Sendable {
        /// The even and the odd elements of each 16, by turns.
        fileprivate let elements: [SIMD8<Float>]
        /// The greatest error of a cosine from 32-bit sums.
        fileprivate let slack: Float

        /// The direction of an embedding; zeros if it has none.
        init(_ embedding: [Float]) {
            let square = embedding.withUnsafeBufferPointer { Vectors.square($0) }
            let factor = square > 0 ? 1 / square.squareRoot() : 0
            var elements = [SIMD8<Float>](repeating: .zero, count: HalfVectors.width(embedding.count) / 4)
            for (index, value) in embedding.enumerated() {
                elements[index / 16 * 2 + index % 2][index % 16 / 2] = Float(Double(value) * factor)
            }
            self.elements = elements
            // Each lane adds a sixteenth of the products. Twice the usual bound, and some for the bound's own rounding.
            slack = Float(embedding.count / 16 + 32) * 0x1p-23
        }
    }

    /// The cosine of a row with a query, and the greatest error of it.
    @inline(__always)
    func cosine(_ row: Int, _ query: Query) -> (value: Float, error: Float) {
        let value = query.elements.withUnsafeBufferPointer { query in
            words.withUnsafeBufferPointer { words in
                Self.dot(
                    UnsafeRawPointer(words.baseAddress.unsafelyUnwrapped + row &* width), query, pairs: width &>> 3)
            }
        }
        return (value, errors[row] + query.slack)
    }

    @inline(__always)
    private static func dot(
        _ words: UnsafeRawPointer, _ query: UnsafeBufferPointer<SIMD8<Float>>, pairs: Int
    ) -> Float {
        let elements = query.baseAddress.unsafelyUnwrapped
        var even = SIMD8<Float>.zero, odd = SIMD8<Float>.zero
        let mask = SIMD8<UInt32>(repeating: 0xFFFF_0000), shift = SIMD8<UInt32>(repeating: 16)
        var index = 0
        while index < pairs {
            let eight = words.loadUnaligned(fromByteOffset: index &* 32, as: SIMD8<UInt32>.self)
            let lower = unsafeBitCast(eight &<< shift, to: SIMD8<Float>.self)
            let upper = unsafeBitCast(eight & mask, to: SIMD8<Float>.self)
            even += lower * elements[index &* 2]
            odd += upper * elements[index &* 2 &+ 1]
            index &+= 1
        }
        return (even + odd).sum()
    }
}

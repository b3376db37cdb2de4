/// Some patches in 32 bits, in blocks of four, to compare other patches with: each row of those is read once for four
/// products.
struct PatchBlock: Sendable {
    /// The number of patches.
    let count: Int
    private let width: Int
    /// The directions of the patches, one after another, with zeros after the last one to a multiple of four.
    private let elements: [SIMD8<Float>]
    private let inverses: [Float]

    init(_ vectors: PatchVectors) { self.init(vectors, Array(0..<vectors.count)) }

    /// - Parameter rows: the patches that are taken.
    init(_ vectors: PatchVectors, _ rows: [Int]) {
        count = rows.count
        width = vectors.width
        let padding = (4 - rows.count % 4) % 4, stride = PatchVectors.stride(vectors.width) / 4
        var elements: [SIMD8<Float>] = []
        elements.reserveCapacity((rows.count + padding) * stride)
        for row in rows { elements += vectors.wide(row) }
        elements += [SIMD8<Float>](repeating: .zero, count: padding * stride)
        self.elements = elements
        inverses = rows.map { vectors.inverse($0) } + [Float](repeating: 0, count: padding)
    }

    /// The cosines of the most similar patch that each patch was compared with.
    struct Nearest: Sendable {
        var cosines: [Float]

        init(_ count: Int) { cosines = [Float](repeating: -.infinity, count: count) }

        /// Takes the greater of each two cosines.
        mutating func merge(_ other: Nearest) {
            for index in cosines.indices { cosines[index] = max(cosines[index], other.cosines[index]) }
        }
    }

    /// Compares these patches with others.
    /// - Parameters:
    ///   - chosen: the rows of the others to compare with, in any order; nil for all.
    ///   - own: the nearest ones of these patches, with at least ``count`` cosines.
    ///   - theirs: called with each of the others' rows and its greatest cosine to one of these patches.
    @inline(__always)
    func compare(
        with others: PatchVectors, _ chosen: [Int32]? = nil, own: inout Nearest,
        theirs: (_ row: Int, _ cosine: Float) -> Void
    ) {
        guard others.width == width, count > 0 else { return }
        let blocks = inverses.count / 4, words = PatchVectors.stride(width), pairs = words / 8
        var best = own.cosines + [Float](repeating: 0, count: inverses.count - count)
        elements.withUnsafeBufferPointer { elements in
            inverses.withUnsafeBufferPointer { inverses in
                best.withUnsafeMutableBufferPointer { best in
                    _ = others.withRows { rows, lengths in
                        for place in 0..<(chosen?.count ?? others.count) {
                            let row = chosen.map { Int($0[place]) } ?? place
                            let start = rows + row &* words &* 4, length = lengths[row]
                            var greatest = -Float.infinity
                            for block in 0..<blocks {
                                let four = Self.products(
                                    start, elements.baseAddress.unsafelyUnwrapped + block &* 8 &* pairs, pairs)
                                let first = block &* 4
                                for lane in 0..<4 where first &+ lane < count {
                                    let cosine = four[lane] * (inverses[first &+ lane] * length)
                                    if cosine > best[first &+ lane] { best[first &+ lane] = cosine }
                                    if cosine > greatest { greatest = cosine }
                                }
                            }
                            theirs(row, greatest)
                        }
                    }
                }
            }
        }
        own.cosines = Array(best[..<count])
    }

    /// The products of a row of 16-bit numbers with four patches, each added in the order of ``product(_:_:_:)``.
    @inline(__always)
    private static func products(
        _ words: UnsafeRawPointer, _ elements: UnsafePointer<SIMD8<Float>>, _ pairs: Int
    ) -> SIMD4<Float> {
        var first = SIMD8<Float>.zero, second = first, third = first, fourth = first
        let shift = SIMD8<Int32>(repeating: 16)
        let stride = 2 &* pairs
        for index in 0..<pairs {
            let eight = words.loadUnaligned(fromByteOffset: index &* 32, as: SIMD8<Int32>.self)
            let even = SIMD8<Float>((eight &<< shift) &>> shift), odd = SIMD8<Float>(eight &>> shift)
            let place = elements + 2 &* index
            first += even * place[0]
            second += even * place[stride]
            third += even * place[2 &* stride]
            fourth += even * place[3 &* stride]
            first += odd * place[1]
            second += odd * place[stride &+ 1]
            third += odd * place[2 &* stride &+ 1]
            fourth += odd * place[3 &* stride &+ 1]
        }
        return SIMD4(first.sum(), second.sum(), third.sum(), fourth.sum())
    }

    /// The product of a row of 16-bit numbers with one in 32 bits.
    /// - Parameter pairs: the number of 16 elements.
    static func product(_ words: UnsafeRawPointer, _ wide: UnsafeBufferPointer<SIMD8<Float>>, _ pairs: Int) -> Float {
        var sum = SIMD8<Float>.zero
        let shift = SIMD8<Int32>(repeating: 16)
        for index in 0..<pairs {
            let eight = words.loadUnaligned(fromByteOffset: index * 32, as: SIMD8<Int32>.self)
            sum += SIMD8<Float>((eight &<< shift) &>> shift) * wide[2 * index]
            sum += SIMD8<Float>(eight &>> shift) * wide[2 * index + 1]
        }
        return sum.sum()
    }
}

/// One patch in 32 bits, to compare others with.
struct WidePatch: Sendable {
    private let elements: [SIMD8<Float>]
    private let inverse: Float

    init(_ vectors: PatchVectors, _ row: Int) {
        elements = vectors.wide(row)
        inverse = vectors.inverse(row)
    }

    /// The cosine of a row of other patches with as many elements, with the bits of ``PatchBlock``.
    @inline(__always)
    func cosine(with others: PatchVectors, _ row: Int) -> Float {
        let pairs = elements.count / 2
        return elements.withUnsafeBufferPointer { elements in
            others.withRows { rows, lengths in
                PatchBlock.product(rows + row &* pairs &* 32, elements, pairs) * (inverse * lengths[row])
            }
        } ?? 0
    }
}

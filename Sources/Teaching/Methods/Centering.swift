/// Centred and normalised embeddings: the mean of all examples is taken from each, and what is left is divided by its
/// length. With one class nothing is taken: its mean is all that there is to compare with.
struct Centering {
    /// The mean of the embeddings; zeros with one class.
    let center: [Float]

    init(center: [Float]) { self.center = center }

    /// The rows that are summed by themselves, and their sums then: many small numbers are added to few large ones less
    /// often.
    private static let block = 1_024

    /// The centre of these rows.
    init(_ set: ExampleSet, rows: [Int]) {
        guard let first = rows.first, let last = rows.last, set.classes[first] != set.classes[last] else {
            center = [Float](repeating: 0, count: set.dimension)
            return
        }
        let dimension = set.dimension, count = (rows.count + Self.block - 1) / Self.block
        var sums = [Double](repeating: 0, count: count * dimension)
        sums.withUnsafeMutableBufferPointer { sums in
            for block in 0..<count {
                let sum = UnsafeMutableBufferPointer(rebasing: sums[block * dimension..<(block + 1) * dimension])
                for row in rows[block * Self.block..<min((block + 1) * Self.block, rows.count)] {
                    set.rows[row].withUnsafeBufferPointer { Vectors.add($0, to: sum) }
                }
            }
        }
        center = (0..<dimension).map { index in
            let sum = stride(from: index, to: sums.count, by: dimension).reduce(0) { $0 + sums[$1] }
            return Float(sum / Double(rows.count))
        }
    }

    /// Adds the direction of an embedding from the centre; nothing where it has none. Bit for bit as ``apply(_:_:)``
    /// and a sum.
    func add(directionOf embedding: UnsafeBufferPointer<Float>, to sum: UnsafeMutableBufferPointer<Double>) {
        center.withUnsafeBufferPointer { center in
            let square = Vectors.squaredDistance(embedding, center)
            guard square > 1e-24, square.isFinite else { return }
            Vectors.add(1 / square.squareRoot(), embedding, less: center, to: sum)
        }
    }

    /// The direction of an embedding from the centre, in `result`; zeros where it has none.
    func apply(_ embedding: UnsafeBufferPointer<Float>, _ result: UnsafeMutableBufferPointer<Double>) {
        let square = center.withUnsafeBufferPointer { Vectors.center(embedding, $0, in: result) }
        // What is left of the centre itself is the rounding of its numbers, and no direction.
        guard square > 1e-24, square.isFinite else {
            result.update(repeating: 0)
            return
        }
        let factor = 1 / square.squareRoot()
        for index in result.indices { result[index] *= factor }
    }

    /// The same as an array.
    func apply(_ embedding: [Float]) -> [Double] {
        [Double](unsafeUninitializedCapacity: center.count) { buffer, count in
            buffer.initialize(repeating: 0)
            embedding.withUnsafeBufferPointer {
                apply($0, UnsafeMutableBufferPointer(rebasing: buffer[..<center.count]))
            }
            count = center.count
        }
    }
}

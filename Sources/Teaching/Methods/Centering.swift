/// Centred and normalised embeddings: the mean of all examples is taken from each, and what is left is divided by its
/// length. With one class nothing is taken: its mean is all that there is to compare with.
struct Centering {
    /// The mean of the embeddings; zeros with one class.
    let center: [Float]

    init(center: [Float]) { self.center = center }

    /// The centre of these rows, which are in the order of their classes.
    init(_ set: ExampleSet, rows: [Int]) {
        self.init(
            sums: set.groups(of: rows).map { Self.sum(of: $0, set) }, count: rows.count, dimension: set.dimension)
    }

    /// The centre of so many rows with these sums of their classes, which are added in their order: a sum that was kept
    /// gives the same bits as one that is computed again.
    init(sums: [[Double]], count: Int, dimension: Int) {
        guard sums.count > 1 else {
            center = [Float](repeating: 0, count: dimension)
            return
        }
        var total = [Double](repeating: 0, count: dimension)
        total.withUnsafeMutableBufferPointer { total in
            for sum in sums { sum.withUnsafeBufferPointer { Vectors.add(1, $0, to: total) } }
        }
        center = total.map { Float($0 / Double(count)) }
    }

    /// The sum of some rows, added in their order.
    static func sum(of rows: some Sequence<Int>, _ set: ExampleSet) -> [Double] {
        var sum = [Double](repeating: 0, count: set.dimension)
        sum.withUnsafeMutableBufferPointer { sum in
            for row in rows { set.rows[row].withUnsafeBufferPointer { Vectors.add($0, to: sum) } }
        }
        return sum
    }

    /// Adds the direction of an embedding from a centre; nothing where it has none. Bit for bit as ``apply(_:_:)`` and
    /// a sum.
    static func add(
        directionOf embedding: UnsafeBufferPointer<Float>, from center: UnsafeBufferPointer<Double>,
        to sum: UnsafeMutableBufferPointer<Double>
    ) {
        let square = Vectors.squaredDistance(embedding, center)
        guard square > 1e-24, square.isFinite else { return }
        Vectors.add(1 / square.squareRoot(), embedding, less: center, to: sum)
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

/// Centres and normalises embeddings: subtracts the mean of all examples and divides the rest by its length. With one
/// class nothing is subtracted, because its mean is all that embeddings are compared with.
struct Centering {
    /// The mean of the embeddings; zeros for one class.
    let center: [Float]

    init(center: [Float]) { self.center = center }

    /// The centre of these rows, which are sorted by class.
    init(_ set: ExampleSet, rows: [Int]) {
        self.init(
            sums: set.groups(of: rows).map { Self.sum(of: $0, set) }, count: rows.count, dimension: set.dimension)
    }

    /// The centre of `count` rows, from the sums of their classes. The sums are added in order, so a stored sum gives
    /// the same bits as a new one.
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

    /// The sum of some rows, added in order.
    static func sum(of rows: some Sequence<Int>, _ set: ExampleSet) -> [Double] {
        var sum = [Double](repeating: 0, count: set.dimension)
        sum.withUnsafeMutableBufferPointer { sum in
            for row in rows { set.rows[row].withUnsafeBufferPointer { Vectors.add($0, to: sum) } }
        }
        return sum
    }

    /// Adds the direction of an embedding from a centre to `sum`; adds nothing if it has no direction. Equal bit for
    /// bit to ``apply(_:_:)`` followed by an addition.
    static func add(
        directionOf embedding: UnsafeBufferPointer<Float>, from center: UnsafeBufferPointer<Double>,
        to sum: UnsafeMutableBufferPointer<Double>
    ) {
        let square = Vectors.squaredDistance(embedding, center)
        guard square > 1e-24, square.isFinite else { return }
        Vectors.add(1 / square.squareRoot(), embedding, less: center, to: sum)
    }

    /// Writes the direction of an embedding from the centre to `result`; zeros if it has no direction.
    func apply(_ embedding: UnsafeBufferPointer<Float>, _ result: UnsafeMutableBufferPointer<Double>) {
        let square = center.withUnsafeBufferPointer { Vectors.center(embedding, $0, in: result) }
        // The rest of the centre itself is a rounding error, not a direction.
        guard square > 1e-24, square.isFinite else {
            result.update(repeating: 0)
            return
        }
        let factor = 1 / square.squareRoot()
        for index in result.indices { result[index] *= factor }
    }

    /// The direction of an embedding from the centre; zeros if it has no direction.
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

/// Centred and normalised embeddings: the mean of all examples is taken from each, and what is left is divided by its length.
/// With one class nothing is taken: its mean is all that there is to compare with.
struct Centering {
    /// The mean of the embeddings; zeros with one class.
    let center: [Float]

    init(center: [Float]) { self.center = center }

    /// The centre of these rows, which are in the order of their classes.
    init(_ set: ExampleSet, rows: [Int]) {
        guard let first = rows.first, let last = rows.last, set.classes[first] != set.classes[last] else {
            center = [Float](repeating: 0, count: set.dimension)
            return
        }
        var sum = [Double](repeating: 0, count: set.dimension), total = sum
        sum.withUnsafeMutableBufferPointer { sum in
            total.withUnsafeMutableBufferPointer { total in
                for (place, row) in rows.enumerated() {
                    set.rows[row].withUnsafeBufferPointer { Vectors.add($0, to: sum) }
                    let isLast = place == rows.count - 1 || set.classes[rows[place + 1]] != set.classes[row]
                    guard isLast else { continue }
                    Vectors.add(1, UnsafeBufferPointer(sum), to: total)
                    sum.update(repeating: 0)
                }
            }
        }
        center = total.map { Float($0 / Double(rows.count)) }
    }

    /// The centre of examples with these sums of their classes, which are added in this order.
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

    /// Adds the direction of an embedding from the centre; nothing where it has none. Bit for bit as ``apply(_:_:)`` and a sum.
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

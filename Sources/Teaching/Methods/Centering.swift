/// Centred and normalised embeddings: the mean of all examples is taken from each, and what is left is divided by its length.
/// With one class nothing is taken: its mean is all that there is to compare with.
struct Centering {
    /// The mean of the embeddings; zeros with one class.
    let center: [Float]

    init(center: [Float]) { self.center = center }

    /// The centre of these rows.
    init(_ set: ExampleSet, rows: [Int]) {
        guard let first = rows.first, let last = rows.last, set.classes[first] != set.classes[last] else {
            center = [Float](repeating: 0, count: set.dimension)
            return
        }
        var sum = [Double](repeating: 0, count: set.dimension)
        sum.withUnsafeMutableBufferPointer { sum in
            for row in rows { set.rows[row].withUnsafeBufferPointer { Vectors.add($0, to: sum) } }
        }
        center = sum.map { Float($0 / Double(rows.count)) }
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

/// The mean direction of each class.
struct ClassMeans {
    /// A row of length 1 for each class, one after the other; zeros for a class without examples here, or without a direction.
    let rows: [Float]
    /// The length of the mean of each class's directions: 1 where all are the same; 0 for a class without a direction.
    let lengths: [Double]

    init(_ set: ExampleSet, rows: [Int], centering: Centering) {
        let dimension = set.dimension
        var means = [Float](repeating: 0, count: set.labels.count * dimension)
        var lengths = [Double](repeating: 0, count: set.labels.count)
        var direction = [Double](repeating: 0, count: dimension)
        var sum = direction
        var next = 0
        while next < rows.count {
            let label = set.classes[rows[next]]
            let first = next
            for index in sum.indices { sum[index] = 0 }
            while next < rows.count, set.classes[rows[next]] == label {
                Self.add(set.rows[rows[next]], centering, &direction, to: &sum)
                next += 1
            }
            let length = sum.reduce(0) { $0 + $1 * $1 }.squareRoot()
            guard length > 1e-12 else { continue }
            lengths[label] = length / Double(next - first)
            for index in 0..<dimension { means[label * dimension + index] = Float(sum[index] / length) }
        }
        self.rows = means
        self.lengths = lengths
    }

    private static func add(
        _ embedding: [Float], _ centering: Centering, _ direction: inout [Double], to sum: inout [Double]
    ) {
        embedding.withUnsafeBufferPointer { embedding in
            direction.withUnsafeMutableBufferPointer { direction in
                centering.apply(embedding, direction)
                sum.withUnsafeMutableBufferPointer { Vectors.add(1, UnsafeBufferPointer(direction), to: $0) }
            }
        }
    }
}

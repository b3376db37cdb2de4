/// The mean direction of each class.
struct ClassMeans {
    /// A row of length 1 for each class, one after the other; zeros for a class without examples here, or without a direction.
    let rows: [Float]
    /// The length of the mean of each class's directions: 1 where all are the same; 0 for a class without a direction.
    let lengths: [Double]

    init(_ set: ExampleSet, rows: [Int], centering: Centering) {
        let dimension = set.dimension
        var groups: [Range<Int>] = []
        var first = 0
        for next in 1...max(1, rows.count)
        where next >= rows.count || set.classes[rows[next]] != set.classes[rows[first]] {
            if first < rows.count { groups.append(first..<next) }
            first = next
        }
        var means = [Float](repeating: 0, count: set.labels.count * dimension)
        var lengths = [Double](repeating: 0, count: set.labels.count)
        means.withUnsafeMutableBufferPointer { means in
            lengths.withUnsafeMutableBufferPointer { lengths in
                // Each class has its own part of both.
                nonisolated(unsafe) let means = means
                nonisolated(unsafe) let lengths = lengths
                let found = groups
                Parts.run(found.count, numbers: rows.count * dimension) { part in
                    let label = set.classes[rows[found[part].lowerBound]]
                    let mean = UnsafeMutableBufferPointer(rebasing: means[label * dimension..<(label + 1) * dimension])
                    lengths[label] = Self.mean(of: rows[found[part]], set, centering, mean)
                }
            }
        }
        self.rows = means
        self.lengths = lengths
    }

    /// The direction of the mean of some rows' directions in `result`, and the mean's length; 0 and zeros where it has none.
    private static func mean(
        of rows: ArraySlice<Int>, _ set: ExampleSet, _ centering: Centering, _ result: UnsafeMutableBufferPointer<Float>
    ) -> Double {
        withUnsafeTemporaryAllocation(of: Double.self, capacity: set.dimension) { sum in
            sum.initialize(repeating: 0)
            for row in rows { set.rows[row].withUnsafeBufferPointer { centering.add(directionOf: $0, to: sum) } }
            let length = sum.reduce(0) { $0 + $1 * $1 }.squareRoot()
            guard length > 1e-12 else { return 0 }
            for index in result.indices { result[index] = Float(sum[index] / length) }
            return length / Double(rows.count)
        }
    }
}

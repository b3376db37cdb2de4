/// The mean direction of each class.
struct ClassMeans {
    /// A row of length 1 for each class, one after another; zeros for a class without examples in this part, or without
    /// a direction.
    let rows: [Float]
    /// The length of the mean of each class's directions: 1 if all are equal; 0 for a class without a direction.
    let lengths: [Double]

    init(_ set: ExampleSet, rows: [Int], centering: Centering) {
        let dimension = set.dimension, center = centering.center.map { Double($0) }
        var means = [Float](repeating: 0, count: set.labels.count * dimension)
        var lengths = [Double](repeating: 0, count: set.labels.count)
        means.withUnsafeMutableBufferPointer { means in
            for group in set.groups(of: rows) {
                let label = set.classes[group[group.startIndex]]
                let mean = UnsafeMutableBufferPointer(rebasing: means[label * dimension..<(label + 1) * dimension])
                lengths[label] = Self.mean(of: group, set, center, mean)
            }
        }
        self.rows = means
        self.lengths = lengths
    }

    /// Writes the direction of the mean of some rows' directions to `result`, and returns the mean's length; zeros and
    /// 0 if it has no direction.
    private static func mean(
        of rows: ArraySlice<Int>, _ set: ExampleSet, _ center: [Double], _ result: UnsafeMutableBufferPointer<Float>
    ) -> Double {
        withUnsafeTemporaryAllocation(of: Double.self, capacity: set.dimension) { sum in
            sum.initialize(repeating: 0)
            center.withUnsafeBufferPointer { center in
                for row in rows {
                    set.rows[row].withUnsafeBufferPointer { Centering.add(directionOf: $0, from: center, to: sum) }
                }
            }
            let length = sum.reduce(0) { $0 + $1 * $1 }.squareRoot()
            guard length > 1e-12 else { return 0 }
            for index in result.indices { result[index] = Float(sum[index] / length) }
            return length / Double(rows.count)
        }
    }
}

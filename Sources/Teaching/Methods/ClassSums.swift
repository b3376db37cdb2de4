/// The sum of each class's embeddings, for the centre. A class's sum is made of its own rows alone, in their order, and the centre of the
/// classes' sums, in theirs: what is kept of an earlier version therefore has the same bits as what is made anew.
struct ClassSums: Sendable {
    private let set: ExampleSet
    /// The places of each class's rows.
    private let ranges: [Range<Int>]
    private let sums: [[Double]]

    /// The sums of all examples.
    /// - Parameter earlier: those of another version, whose sums are taken for the classes that have the same examples.
    init(_ set: ExampleSet, keeping earlier: ClassSums? = nil) {
        var ranges: [Range<Int>] = [], first = 0
        for count in set.counts {
            ranges.append(first..<first + count)
            first += count
        }
        var places: [String: Int] = [:]
        if let earlier { for (place, label) in earlier.set.labels.enumerated() { places[label] = place } }
        sums = ranges.enumerated().map { label, range in
            if let earlier, let place = places[set.labels[label]],
                Self.isSame(set.rows[range], earlier.set.rows[earlier.ranges[place]])
            {
                return earlier.sums[place]
            }
            return Self.sum(of: set, rows: Array(range))
        }
        self.set = set
        self.ranges = ranges
    }

    /// True if the rows are the same arrays: both are alive, so that one address is one array, and none is ever changed.
    private static func isSame(_ rows: ArraySlice<[Float]>, _ others: ArraySlice<[Float]>) -> Bool {
        rows.count == others.count
            && zip(rows, others).allSatisfy { one, other in
                one.count == other.count
                    && one.withUnsafeBufferPointer { one in
                        other.withUnsafeBufferPointer { one.baseAddress == $0.baseAddress }
                    }
            }
    }

    /// The sum of some rows.
    static func sum(of set: ExampleSet, rows: some Sequence<Int>) -> [Double] {
        var sum = [Double](repeating: 0, count: set.dimension)
        sum.withUnsafeMutableBufferPointer { sum in
            for row in rows { set.rows[row].withUnsafeBufferPointer { Vectors.add($0, to: sum) } }
        }
        return sum
    }

    /// The centre of all examples.
    var centering: Centering { Centering(sums: sums, count: set.rows.count, dimension: set.dimension) }
}

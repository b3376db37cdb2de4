/// Outputs that may be sorted by score, in which rounding exchanges rows with nearly equal scores.
enum SortedRows {
    /// The maximum number of rows that are matched in any order; the lists of detectors and classifiers are shorter.
    private static let maximum = 1024

    /// The number of values in a row of a list that may be sorted by score: a detection of several values, or one index
    /// into a table. Nil for other outputs.
    static func width(_ shape: Shape, type: ElementType) -> Int? {
        let extents = Array(shape.dimensions.drop { $0 == 1 })
        // Bytes are quantized scores, and their position identifies the class.
        let isPlace = !type.isFloatingPoint && type.byteCount > 1
        switch extents.count {
        case 1 where isPlace && extents[0] <= maximum: return 1
        case 2 where extents[0] <= maximum && extents[1] > 1: return extents[1]
        default: return nil
        }
    }

    /// True if the rows are equal except for their order.
    static func areEqual<Number>(
        _ expected: [Number], _ found: [Number], width: Int, _ areEqual: (Number, Number) -> Bool
    ) -> Bool {
        guard width > 0, expected.count == found.count else { return false }
        var left = Array(0..<found.count / width)
        for row in 0..<expected.count / width {
            let match = left.firstIndex { other in
                (0..<width).allSatisfy { areEqual(expected[row * width + $0], found[other * width + $0]) }
            }
            guard let match else { return false }
            left.remove(at: match)
        }
        return true
    }
}

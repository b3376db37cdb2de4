/// The number of pictures in each of 1,024 equal cells of 0 to 1, and above a cell. Both take ten steps.
///
/// The cells are equal, and do not follow the reference: cells at its quantiles would depend on the pictures that they
/// are compared with, and the p-values would not be exact.
struct CellCounts: Sendable, Equatable {
    static let cells = 1_024
    /// The maximum number of pictures, which a double holds exactly.
    static let most = 1 << 53

    /// Partial sums (Fenwick, 1994): the element i holds the pictures of the cells of i with i's lowest bit cleared up
    /// to i - 1.
    private var sums = [Int](repeating: 0, count: cells + 1)
    /// The number of all pictures.
    private(set) var total = 0

    /// The cell of a value: those outside of 0 to 1 are in the first and the last.
    static func cell(of value: Double) -> Int {
        value > 0 ? (value < 1 ? Int(value * Double(cells)) : cells - 1) : 0
    }

    /// Adds pictures to a cell; not more than ``most`` in all.
    mutating func add(_ count: Int = 1, to cell: Int) {
        guard (0..<Self.cells).contains(cell), count > 0, count <= Self.most - total else { return }
        total += count
        var index = cell + 1
        while index <= Self.cells {
            sums[index] += count
            index += index & -index
        }
    }

    /// The number of pictures in the cells before a cell.
    private func before(_ cell: Int) -> Int {
        var sum = 0, index = cell
        while index > 0 {
            sum += sums[index]
            index &= index - 1
        }
        return sum
    }

    /// The number of pictures in a cell.
    func own(_ cell: Int) -> Int { before(cell + 1) - before(cell) }

    /// The smoothed conformal p-value of a picture that is already counted: the share of all pictures in higher cells,
    /// and of `u` of those in its own.
    /// - Parameter u: a random number from 0 to 1, another for each picture.
    func pValue(of cell: Int, u: Double) -> Double {
        guard total > 0 else { return u }
        let upTo = before(cell + 1), own = upTo - before(cell)
        return (Double(total - upTo) + u * Double(own)) / Double(total)
    }
}

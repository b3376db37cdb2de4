/// The vectors of an output that are those of patches, as `"patches"` in model.json states it.
package struct PatchPlaces: Sendable, Hashable {
    /// The number of leading tokens that are no patches, such as a class token and registers.
    package var skip: Int
    /// The number of rows of the grid; nil for a square.
    package var rows: Int?

    package init(skip: Int = 0, rows: Int? = nil) { (self.skip, self.rows) = (skip, rows) }
}

/// Reads the vectors of the patches of a picture, which form a grid over the model's input: row by row, from its top.
package struct PatchReader: Sendable, Hashable {
    package let rows: Int, columns: Int
    /// The number of elements of a vector.
    package let width: Int
    /// The index of the first patch's first element, and the distances of an element and of a patch to the next one.
    private let start: Int, next: Int, step: Int

    /// The number of patches.
    package var count: Int { rows * columns }

    /// The form of an output: one vector, vectors of patches, or a form that must be stated.
    package enum Finding: Sendable {
        /// It has one vector.
        case single
        case patches(PatchReader)
        /// It has several vectors, and nothing says which of them are those of patches.
        case unclear(vectors: Int)
    }

    /// The extents of a tensor, and the place of its vectors in it.
    struct Tensor {
        let shape: [Int]
        /// The number of vectors, and of the elements of each.
        let vectors: Int, width: Int
        /// True if the elements of a vector come before the places of vectors.
        let isFirst: Bool
    }

    private init(_ tensor: Tensor, skip: Int, rows: Int, columns: Int) {
        (self.rows, self.columns, width) = (rows, columns, tensor.width)
        (next, step) = tensor.isFirst ? (tensor.vectors, 1) : (1, tensor.width)
        start = skip * step
    }

    /// Finds the patches of a tensor. Throws `unexpected` if it does not have those that are stated.
    static func find(_ stated: PatchPlaces?, in tensor: Tensor) throws(ObservationError) -> Finding {
        if tensor.shape.count == 4, tensor.vectors > 1 || stated != nil {
            let places = tensor.isFirst ? tensor.shape[2...] : tensor.shape[1...2]
            let (rows, columns) = (places[places.startIndex], places[places.startIndex + 1])
            if let stated, stated.skip > 0 || stated.rows ?? rows != rows {
                throw .unexpected(
                    role: "output", expected: "tokens, for \"patches\": this is a map of \(rows) x \(columns) patches",
                    found: "\(tensor.shape)")
            }
            return .patches(PatchReader(tensor, skip: 0, rows: rows, columns: columns))
        }
        guard let stated else {
            guard tensor.vectors > 1 else { return .single }
            for skip in 0...1 {
                if let rows = squareRoot(of: tensor.vectors - skip) {
                    return .patches(PatchReader(tensor, skip: skip, rows: rows, columns: rows))
                }
            }
            return .unclear(vectors: tensor.vectors)
        }
        let rest = tensor.vectors - stated.skip
        guard tensor.shape.count == 3, rest > 0, let rows = stated.rows ?? squareRoot(of: rest), rows > 0,
            rest % rows == 0
        else {
            let grid = stated.rows.map { "a multiple of \($0)" } ?? "a square"
            throw .unexpected(
                role: "output", expected: "[1, tokens, width] with \(stated.skip) tokens and \(grid), for \"patches\"",
                found: "\(tensor.shape)")
        }
        return .patches(PatchReader(tensor, skip: stated.skip, rows: rows, columns: rest / rows))
    }

    private static func squareRoot(of number: Int) -> Int? {
        guard number > 0 else { return nil }
        let root = Int(Double(number).squareRoot().rounded())
        return root * root == number ? root : nil
    }

    /// The vectors of one tensor, one after another.
    package func vectors(_ tensor: OutputTensor) throws(ObservationError) -> [Float] {
        let values = tensor.values
        let last = start + (count - 1) * step + (width - 1) * next
        guard values.count > last else {
            throw .unexpected(role: "output", expected: "\(last + 1) values", found: "\(tensor.shape)")
        }
        if next == 1 { return Array(values[start..<start + count * width]) }
        return (0..<count).flatMap { patch in (0..<width).map { values[start + patch * step + $0 * next] } }
    }
}

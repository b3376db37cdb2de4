/// One raw output of a model: 32-bit floats in row-major order. Borrowed: valid only within the call it is passed to.
package struct OutputTensor {
    /// The extents, outermost first, as the engine reports them, and the elements, as many as `shape` says.
    package let shape: [Int], values: UnsafeBufferPointer<Float>

    /// Nil if the number of elements is not the product of the extents.
    package init?(shape: [Int], values: UnsafeBufferPointer<Float>) {
        guard Self.count(of: shape) == values.count else { return nil }
        (self.shape, self.values) = (shape, values)
    }

    /// The product of extents; nil for a negative one, or where the product does not fit.
    package static func count(of shape: [Int]) -> Int? {
        var product = 1
        for extent in shape {
            let (next, overflow) = product.multipliedReportingOverflow(by: extent)
            guard extent >= 0, !overflow else { return nil }
            product = next
        }
        return product
    }

    /// The extents without a batch of one in front.
    package static func withoutBatch(_ shape: [Int], rank: Int) -> [Int] {
        var shape = shape[...]
        while shape.count > rank, shape.first == 1 { shape = shape.dropFirst() }
        return Array(shape)
    }
}

/// The reason why outputs cannot be decoded.
package enum ObservationError: Error, Hashable {
    /// A tensor does not have the form that its decoding needs. `role` names it as model.json does.
    case unexpected(role: String, expected: String, found: String)
    /// `isCancelled` was true.
    case cancelled
    /// There are more detections than are read, and none may be missing.
    case tooMany(limit: Int)

    /// One sentence for a person.
    package var message: String {
        switch self {
        case .unexpected(let role, let expected, let found): "\(role): expected \(expected), found \(found)"
        case .cancelled: "cancelled"
        case .tooMany(let limit): "more than \(limit) detections"
        }
    }
}

/// Elements of a tensor that belong together: element `e` of row `r` lies at `base[r * rowStride + e * step]`. Every
/// row and element was checked to be inside the tensor; readers need no further checks.
struct Plane {
    let base: UnsafePointer<Float>
    /// `count`: elements in a row.
    let rowStride: Int, step: Int, count: Int

    /// Nil if a row or an element would lie outside the tensor.
    init?(_ tensor: OutputTensor, offset: Int, rows: Int, rowStride: Int, count: Int, step: Int) {
        guard let base = tensor.values.baseAddress, offset >= 0, rows > 0, count > 0, rowStride >= 0, step >= 0 else {
            return nil
        }
        let (lastRow, first) = rowStride.multipliedReportingOverflow(by: rows - 1)
        let (lastStep, second) = step.multipliedReportingOverflow(by: count - 1)
        guard !first, !second, lastRow <= tensor.values.count, lastStep <= tensor.values.count,
            offset <= tensor.values.count, offset + lastRow + lastStep < tensor.values.count
        else { return nil }
        (self.base, self.rowStride, self.step, self.count) = (base + offset, rowStride, step, count)
    }

    @inline(__always)
    subscript(row: Int, element: Int) -> Float { base[row &* rowStride &+ element &* step] }
}

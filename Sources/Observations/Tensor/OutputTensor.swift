/// A raw output of a model: 32-bit floats in row-major order. Borrowed: valid only during the call that it is passed
/// to.
package struct OutputTensor {
    /// The extents, outermost first, as reported by the engine; the elements, as many as the product of the extents.
    package let shape: [Int], values: UnsafeBufferPointer<Float>

    /// Nil if the number of elements differs from the product of the extents.
    package init?(shape: [Int], values: UnsafeBufferPointer<Float>) {
        guard Self.count(of: shape) == values.count else { return nil }
        (self.shape, self.values) = (shape, values)
    }

    /// The product of the extents; nil if one is negative, or the product overflows.
    package static func count(of shape: [Int]) -> Int? {
        var product = 1
        for extent in shape {
            let (next, overflow) = product.multipliedReportingOverflow(by: extent)
            guard extent >= 0, !overflow else { return nil }
            product = next
        }
        return product
    }

    /// The extents without leading batch axes of extent 1.
    package static func withoutBatch(_ shape: [Int], rank: Int) -> [Int] {
        var shape = shape[...]
        while shape.count > rank, shape.first == 1 { shape = shape.dropFirst() }
        return Array(shape)
    }
}

/// The reason why outputs cannot be decoded.
package enum ObservationError: Error, Hashable {
    /// A tensor does not have the expected form. `role` is its name in model.json.
    case unexpected(role: String, expected: String, found: String)
    /// `isCancelled` returned true.
    case cancelled
    /// Values of this role are NaN, or infinite where only finite ones have a meaning.
    case notNumbers(role: String)
    /// There are more detections than the limit, and none may be missing.
    case tooMany(limit: Int)

    /// A sentence for users.
    package var message: String {
        switch self {
        case .unexpected(let role, let expected, let found): "\(role): expected \(expected), found \(found)"
        case .cancelled: "cancelled"
        case .notNumbers(let role): "\(role): expected numbers, found NaN or infinity"
        case .tooMany(let limit): "more than \(limit) detections"
        }
    }
}

/// A strided view of a tensor: element `e` of row `r` is at `base[r * rowStride + e * step]`. All rows and elements are
/// checked at initialization to be inside the tensor; readers need no further checks.
struct Plane {
    let base: UnsafePointer<Float>
    /// `count`: the number of elements in a row.
    let rowStride: Int, step: Int, count: Int

    /// Nil if a row or an element would be outside the tensor.
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

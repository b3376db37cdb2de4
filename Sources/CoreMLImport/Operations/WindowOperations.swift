/// Convolutions and pooling where Core ML says more than the engine's operations do.
extension GraphBuilder {
    /// The transposed convolution by padding, or to a size.
    /// - Parameters:
    ///   - size: the extents of what comes out, one a spatial axis; nil if padding and strides say it. `same` gives
    ///     extent · stride.
    ///   - isCentered: what is too much for `size` is cut off on both sides, the smaller half in front, where there is
    ///     no padding. Else the padding says what is cut off in front, and the end follows from the size.
    func transposedConvolution(
        _ x: Graph.Value, _ weights: Graph.Value, groups: Int, window: Window, size: [Int]?, isCentered: Bool = false
    ) throws(Problem) -> Graph.Value {
        let axes = x.rank - 2
        guard let kernel = weights.staticShape?.dropFirst(2), kernel.count == axes, window.strides.count == axes,
            window.dilations.count == axes, size == nil || size?.count == axes,
            (kernel + window.strides + window.dilations).allSatisfy({ $0 > 0 && $0 <= 1 << 24 })
        else {
            throw Problem(
                "weights of shape \(shapeText(weights.shape)), strides \(window.strides) and dilations \(window.dilations) do "
                    + "not fit an input of shape \(shapeText(x.shape))")
        }
        var (begin, end, extra) = ([Int](), [Int](), [Int]())
        for axis in 0..<axes {
            let stride = window.strides[axis]
            // What the products of all elements cover.
            let reach = (kernel[kernel.startIndex + axis] - 1) * window.dilations[axis] + 1
            var (surplus, front): (Int, Int?) = (reach - stride, nil)
            if case .amounts(let before, let after) = window.padding {
                surplus = before[axis] + after[axis]
                if size == nil || !isCentered || (before + after).contains(where: { $0 > 0 }) { front = before[axis] }
            }
            if let size, let extent = x.shape[axis + 2] { surplus = (extent - 1) * stride + reach - size[axis] }
            let (total, first) = (max(surplus, 0), front)
            var half = total / 2
            if case .sameLower = window.padding { half = total - half }
            begin.append(first ?? half)
            end.append(max(surplus - begin[axis], 0))
            extra.append(max(begin[axis] - surplus, 0))
        }
        return try transposedConvolution(
            x, weights, groups: groups, strides: window.strides, dilations: window.dilations, begin: begin, end: end,
            extra: extra)
    }

    /// The root of the sum of squares of each window.
    func lengthPool(_ x: Graph.Value, kernel: [Int], window: Window, roundsUp: Bool = false) throws(Problem)
        -> Graph.Value
    {
        let means = try averagePool(
            multiply(x, x), kernel: kernel, window: window, excludesPadding: false, roundsUp: roundsUp)
        return unary("Sqrt", try scaled(means, by: Float(elementCount(kernel) ?? 0)))
    }
}

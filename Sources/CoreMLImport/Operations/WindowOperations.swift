/// Convolutions and pooling with options that the engine's operations lack.
extension GraphBuilder {
    /// The transposed convolution, with padding or to a given output size.
    /// - Parameters:
    ///   - size: the extents of the output, one for each spatial axis; nil if padding and strides determine them. With
    ///     `same` padding they are extent · stride.
    ///   - isCentered: without padding, a surplus over `size` is cropped on both sides, the smaller half in front.
    ///     Otherwise the padding determines how much is cropped in front, and `size` how much at the end.
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
            // The extent covered by a dilated kernel.
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

    /// The L2 norm of each window.
    func lengthPool(_ x: Graph.Value, kernel: [Int], window: Window, roundsUp: Bool = false) throws(Problem)
        -> Graph.Value
    {
        let means = try averagePool(
            multiply(x, x), kernel: kernel, window: window, excludesPadding: false, roundsUp: roundsUp)
        return unary("Sqrt", try scaled(means, by: Float(elementCount(kernel) ?? 0)))
    }
}

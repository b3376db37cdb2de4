/// Operations of neural networks: products, windows, reductions, normalization.
extension GraphBuilder {
    /// The movement of windows over the spatial axes; one number for each axis.
    package struct Window {
        package var strides: [Int]
        package var dilations: [Int]
        package var padding: Padding

        package enum Padding {
            case amounts(begin: [Int], end: [Int])
            /// ⌈extent / stride⌉ outputs; an odd element of padding goes to the end.
            case sameUpper
            /// ⌈extent / stride⌉ outputs; an odd element of padding goes to the front.
            case sameLower
        }

        package init(strides: [Int], dilations: [Int], padding: Padding) {
            self.strides = strides
            self.dilations = dilations
            self.padding = padding
        }

        var attributes: [(key: String, value: Graph.Attribute)] {
            let none = strides.map { _ in 0 }
            switch padding {
            case .amounts(let begin, let end):
                return [("pads_begin", .integers(begin)), ("pads_end", .integers(end)), ("auto_pad", "explicit")]
            case .sameUpper:
                return [("pads_begin", .integers(none)), ("pads_end", .integers(none)), ("auto_pad", "same_upper")]
            case .sameLower:
                return [("pads_begin", .integers(none)), ("pads_end", .integers(none)), ("auto_pad", "same_lower")]
            }
        }

        /// The number of windows of size `kernel` along each axis of `extents`. Throws if numbers are out of range.
        func outputs(_ extents: [Int?], kernel: [Int], roundsUp: Bool = false) throws(Problem) -> [Int?] {
            let lists = [strides, dilations, kernel]
            guard lists.allSatisfy({ $0.count == extents.count && $0.allSatisfy { $0 > 0 && $0 <= 1 << 24 } }) else {
                throw Problem(
                    "windows of \(kernel), strides \(strides), dilations \(dilations) do not fit \(shapeText(extents))")
            }
            if case .amounts(let begin, let end) = padding {
                guard begin.count == extents.count, end.count == extents.count,
                    (begin + end).allSatisfy({ $0 >= 0 && $0 <= 1 << 24 })
                else { throw Problem("padding of \(begin) and \(end) does not fit \(shapeText(extents))") }
            }
            var outputs: [Int?] = []
            for axis in extents.indices {
                guard let extent = extents[axis] else {
                    outputs.append(nil)
                    continue
                }
                guard case .amounts(let begin, let end) = padding else {
                    outputs.append((extent + strides[axis] - 1) / strides[axis])
                    continue
                }
                let covered = extent + begin[axis] + end[axis] - (kernel[axis] - 1) * dilations[axis] - 1
                guard covered >= 0 else {
                    throw Problem("a window of \(kernel[axis]) is larger than the extent \(extent) and its padding")
                }
                var count = covered / strides[axis] + 1
                // The last window must begin within the extent or the padding before it.
                if roundsUp, covered % strides[axis] != 0, count * strides[axis] < extent + begin[axis] { count += 1 }
                outputs.append(count)
            }
            return outputs
        }
    }

    /// The convolution of `value` [N, C, spatial…] with `weights` [O, C / groups, kernel…].
    package func convolution(_ value: Graph.Value, _ weights: Graph.Value, groups: Int, window: Window) throws(Problem)
        -> Graph.Value
    {
        guard value.rank >= 3, weights.rank == value.rank, let filter = weights.staticShape else {
            throw Problem("cannot convolve \(shapeText(value.shape)) with weights \(shapeText(weights.shape))")
        }
        let (outputs, inputs) = (filter[0], filter[1])
        guard groups > 0, outputs > 0, outputs % groups == 0, let channels = checkedProduct(inputs, groups),
            value.shape[1] == nil || value.shape[1] == channels
        else {
            throw Problem(
                "weights of shape \(shapeText(weights.shape)) in \(groups) groups do not fit an input of shape "
                    + shapeText(value.shape))
        }
        let spatial = try window.outputs(Array(value.shape[2...]), kernel: Array(filter[2...]))
        let attributes =
            [("strides", .integers(window.strides)), ("dilations", .integers(window.dilations))] + window.attributes
        if groups == 1 {
            return node("Convolution", 1, [value, weights], attributes, shape: [value.shape[0], outputs] + spatial)
        }
        let grouped = try reshape(weights, to: [groups, outputs / groups] + filter[1...])
        return node("GroupConvolution", 1, [value, grouped], attributes, shape: [value.shape[0], outputs] + spatial)
    }

    /// The transposed convolution of `value` [N, C, spatial…] with `weights` [C, O / groups, kernel…]. The result is
    /// cropped by `begin` and `end`, and padded by `extra` at the end.
    package func transposedConvolution(
        _ value: Graph.Value, _ weights: Graph.Value, groups: Int, strides: [Int], dilations: [Int], begin: [Int],
        end: [Int], extra: [Int]
    ) throws(Problem) -> Graph.Value {
        guard value.rank >= 3, weights.rank == value.rank, let filter = weights.staticShape else {
            throw Problem("cannot deconvolve \(shapeText(value.shape)) with weights \(shapeText(weights.shape))")
        }
        let inputs = filter[0]
        guard groups > 0, inputs > 0, inputs % groups == 0, let outputs = checkedProduct(filter[1], groups),
            value.shape[1] == nil || value.shape[1] == inputs
        else {
            throw Problem(
                "weights of shape \(shapeText(weights.shape)) in \(groups) groups do not fit an input of shape "
                    + shapeText(value.shape))
        }
        let count = value.rank - 2
        let lists = [strides, dilations, begin, end, extra]
        guard lists.allSatisfy({ $0.count == count && $0.allSatisfy { $0 >= 0 && $0 <= 1 << 24 } }),
            (strides + dilations).allSatisfy({ $0 > 0 })
        else {
            throw Problem(
                "unsupported strides \(strides), dilations \(dilations), padding \(begin) and \(end) of a deconvolution"
            )
        }
        var shape: [Int?] = [value.shape[0], outputs]
        for axis in 0..<count {
            let extent = value.shape[axis + 2].map { extent in
                (extent - 1) * strides[axis] + (filter[axis + 2] - 1) * dilations[axis] + 1 - begin[axis] - end[axis]
                    + extra[axis]
            }
            if let extent, extent <= 0 { throw Problem("the padding of a deconvolution leaves nothing") }
            shape.append(extent)
        }
        let attributes: [(key: String, value: Graph.Attribute)] = [
            ("strides", .integers(strides)), ("dilations", .integers(dilations)), ("pads_begin", .integers(begin)),
            ("pads_end", .integers(end)), ("auto_pad", "explicit"), ("output_padding", .integers(extra)),
        ]
        if groups == 1 {
            return node("ConvolutionBackpropData", 1, [value, weights], attributes, shape: shape)
        }
        let grouped = try reshape(weights, to: [groups, inputs / groups] + filter[1...])
        return node("GroupConvolutionBackpropData", 1, [value, grouped], attributes, shape: shape)
    }

    package func maxPool(_ value: Graph.Value, kernel: [Int], window: Window, roundsUp: Bool = false) throws(Problem)
        -> Graph.Value
    {
        let shape = try pooled(value, kernel: kernel, window: window, roundsUp: roundsUp)
        let attributes: [(key: String, value: Graph.Attribute)] =
            [
                ("kernel", .integers(kernel)), ("strides", .integers(window.strides)),
                ("rounding_type", roundsUp ? "ceil_torch" : "floor"), ("dilations", .integers(window.dilations)),
                ("index_element_type", "i64"), ("axis", 0),
            ] + window.attributes
        // The second output, the indices, is not used.
        return nodes("MaxPool", 14, [value], attributes, outputs: [(value.type, shape), (.i64, shape)])[0]
    }

    /// The mean of each window. `excludesPadding`: of the elements that are not padding.
    package func averagePool(
        _ value: Graph.Value, kernel: [Int], window: Window, excludesPadding: Bool, roundsUp: Bool = false
    ) throws(Problem) -> Graph.Value {
        let shape = try pooled(value, kernel: kernel, window: window, roundsUp: roundsUp)
        let attributes: [(key: String, value: Graph.Attribute)] =
            [
                ("kernel", .integers(kernel)), ("strides", .integers(window.strides)),
                ("exclude-pad", .bool(excludesPadding)), ("rounding_type", roundsUp ? "ceil_torch" : "floor"),
            ] + window.attributes
        return node("AvgPool", 14, [value], attributes, shape: shape)
    }

    private func pooled(_ value: Graph.Value, kernel: [Int], window: Window, roundsUp: Bool) throws(Problem) -> [Int?] {
        guard value.rank >= 3 else { throw Problem("pooling of \(shapeText(value.shape))") }
        return value.shape[..<2]
            + (try window.outputs(Array(value.shape[2...]), kernel: kernel, roundsUp: roundsUp))
    }

    /// "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd" over axes.
    package func reduce(_ type: String, _ value: Graph.Value, axes: [Int], keepsAxes: Bool) throws(Problem)
        -> Graph.Value
    {
        var places: Set<Int> = []
        for axis in axes { places.insert(try positiveAxis(axis, rank: value.rank)) }
        let shape: [Int?] = value.shape.enumerated().compactMap { axis, extent in
            places.contains(axis) ? (keepsAxes ? .some(1) : .none) : .some(extent)
        }
        return operation(type, 1, [value, integers(places.sorted())], ["keep_dims": .bool(keepsAxes)], shape: shape)
    }

    /// numpy's matmul; each side can be transposed (its last two axes swapped) first.
    package func matmul(
        _ left: Graph.Value, _ right: Graph.Value, transposesLeft: Bool = false, transposesRight: Bool = false
    ) throws(Problem) -> Graph.Value {
        guard left.rank > 0, right.rank > 0 else {
            throw Problem("a matrix product needs operands with axes, found single numbers")
        }
        func matrix(_ shape: [Int?], transposed: Bool) -> (rows: Int?, columns: Int?) {
            let (rows, columns) = (shape[shape.count - 2], shape[shape.count - 1])
            return transposed ? (columns, rows) : (rows, columns)
        }
        // A vector is a row on the left and a column on the right; the added axis is removed from the result.
        let (first, second) = (
            left.rank == 1 ? [1] + left.shape : left.shape, right.rank == 1 ? right.shape + [1] : right.shape
        )
        let one = matrix(first, transposed: transposesLeft && left.rank > 1)
        let other = matrix(second, transposed: transposesRight && right.rank > 1)
        if let columns = one.columns, let rows = other.rows, columns != rows {
            throw Problem("matrices of \(shapeText(left.shape)) and \(shapeText(right.shape)) cannot be multiplied")
        }
        var shape = try broadcastShape(Array(first.dropLast(2)), Array(second.dropLast(2)))
        if left.rank > 1 { shape.append(one.rows) }
        if right.rank > 1 { shape.append(other.columns) }
        return operation(
            "MatMul", 1, [left, right],
            [
                "transpose_a": .bool(transposesLeft && left.rank > 1),
                "transpose_b": .bool(transposesRight && right.rank > 1),
            ],
            shape: shape)
    }

    package func softmax(_ value: Graph.Value, axis: Int) throws(Problem) -> Graph.Value {
        operation(
            "SoftMax", 8, [value], ["axis": .integer(try positiveAxis(axis, rank: value.rank))], shape: value.shape)
    }

    /// The mapping of output positions to input positions, by OpenVINO's names.
    package enum Sampling: String {
        case asymmetric
        case alignCorners = "align_corners"
        case halfPixel = "half_pixel"
    }

    /// Resizes the last two axes of [N, C, H, W] to `height` and `width`: bilinear if `linear`, else the nearest
    /// element.
    package func resize(_ value: Graph.Value, height: Int, width: Int, linear: Bool, sampling: Sampling) throws(Problem)
        -> Graph.Value
    {
        guard value.rank == 4, height > 0, width > 0, height <= 1 << 16, width <= 1 << 16 else {
            throw Problem("\(shapeText(value.shape)) cannot be resized to \(width) by \(height)")
        }
        return interpolate(
            value, sizes: integers([height, width]), factors: [1, 1], by: "sizes", linear: linear, sampling: sampling,
            extents: [height, width])
    }

    /// Resizes the last two axes to a computed size, a list of two i64.
    package func resize(_ value: Graph.Value, to size: Graph.Value, linear: Bool, sampling: Sampling) throws(Problem)
        -> Graph.Value
    {
        guard value.rank == 4, size.shape == [2] else {
            throw Problem("\(shapeText(value.shape)) cannot be resized to a size of shape \(shapeText(size.shape))")
        }
        return interpolate(
            value, sizes: size, factors: [1, 1], by: "sizes", linear: linear, sampling: sampling, extents: [nil, nil])
    }

    /// Resizes the last two axes by factors, for open extents.
    package func resize(_ value: Graph.Value, factors: [Float], linear: Bool, sampling: Sampling) throws(Problem)
        -> Graph.Value
    {
        guard value.rank == 4, factors.count == 2, factors.allSatisfy({ $0 > 0 && $0 <= 65536 }) else {
            throw Problem("\(shapeText(value.shape)) cannot be resized by \(factors)")
        }
        return interpolate(
            value, sizes: integers([1, 1]), factors: factors, by: "scales", linear: linear, sampling: sampling,
            extents: [nil, nil])
    }

    private func interpolate(
        _ value: Graph.Value, sizes: Graph.Value, factors: [Float], by way: String, linear: Bool, sampling: Sampling,
        extents: [Int?]
    ) -> Graph.Value {
        operation(
            "Interpolate", 4, [value, sizes, floats(factors), integers([2, 3])],
            [
                "mode": linear ? "linear_onnx" : "nearest", "shape_calculation_mode": .text(way),
                "coordinate_transformation_mode": .text(sampling.rawValue), "nearest_mode": "floor", "antialias": false,
                "pads_begin": [0, 0, 0, 0], "pads_end": [0, 0, 0, 0], "cube_coeff": -0.75,
            ], shape: [value.shape[0], value.shape[1]] + extents)
    }

    private func node(
        _ type: String, _ opset: Int, _ inputs: [Graph.Value], _ attributes: [(key: String, value: Graph.Attribute)],
        shape: [Int?]
    ) -> Graph.Value {
        nodes(type, opset, inputs, attributes, outputs: [(inputs.first?.type ?? .f32, shape)])[0]
    }
}

/// convolution (and deconvolution), convolution3d.
enum ConvolutionLayers {
    static let table = [
        LayerTranslator(100, "convolution", convolution), LayerTranslator(1471, "convolution3d", convolution3D),
    ]

    private static func convolution(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        let outputs = try layer.size(1, "outputChannels")
        let kernelChannels = try layer.size(2, "kernelChannels")
        let groups = try layer.size(10, "nGroups", default: 1)
        let kernel = try layer.sizes(20, "kernelSize", default: [3, 3])
        let strides = try layer.sizes(30, "stride", default: [1, 1])
        let dilations = try layer.sizes(40, "dilationFactor", default: [1, 1])
        let window = GraphBuilder.Window(
            strides: strides, dilations: dilations, padding: try padding(layer, valid: 50, same: 51))
        var result: Graph.Value
        if try layer.parameters.bool(60) {
            guard outputs % groups == 0 else {
                throw Problem("\(outputs) output channels do not divide into \(groups) groups")
            }
            let weights = try layer.constant(
                90, "weights", shape: [kernelChannels, outputs / groups] + kernel, channels: outputs / groups,
                perChannel: kernel[0] * kernel[1])
            let outputShape = try layer.parameters.integers(100)
            result = try deconvolution(
                layer, value, weights, groups: groups, window: window,
                outputShape: outputShape.isEmpty ? [] : layer.sizes(100, "outputShape", default: [1, 1]),
                isFrontHeavy: layer.parameters.message(51)?.integer(1) == 1)
        } else {
            let weights = try layer.constant(
                90, "weights", shape: [outputs, kernelChannels] + kernel, channels: outputs)
            result = try layer.graph.convolution(value, weights, groups: groups, window: window)
        }
        if try layer.parameters.bool(70) {
            result = try layer.graph.add(
                result, layer.constant(91, "bias", shape: [1, outputs, 1, 1], channels: outputs))
        }
        return [try back(result)]
    }

    /// ConvolutionPaddingType, PoolingPaddingType: `valid` with its amounts, or `same`. Unset is `valid` without padding.
    static func padding(_ layer: Layer, valid: Int, same: Int) throws(Problem) -> GraphBuilder.Window.Padding {
        if let same = try layer.parameters.message(same) {
            return try same.integer(1) == 1 ? .sameLower : .sameUpper
        }
        let amounts = try borders(layer.parameters.message(valid)?.message(1))
        return .amounts(begin: amounts.begin, end: amounts.end)
    }

    /// BorderAmounts: [H, W] in front and behind. Unset: none.
    static func borders(_ message: Message?) throws(Problem) -> (begin: [Int], end: [Int]) {
        var (begin, end): ([Int], [Int]) = ([], [])
        for edge in try message?.messages(10) ?? [] {
            begin.append(try edge.integer(1))
            end.append(try edge.integer(2))
        }
        if begin.isEmpty { return ([0, 0], [0, 0]) }
        guard begin.count == 2, (begin + end).allSatisfy({ $0 >= 0 && $0 <= 1 << 24 }) else {
            throw Problem("padding of \(begin) and \(end): expected two amounts of each")
        }
        return (begin, end)
    }

    /// The transposed convolution of any number of axes, by the size that is wanted or by the padding.
    ///
    /// `outputShape` says the size; padding beside it still says what is cut off in front, as the converters mean it (the end
    /// follows from the size). Without padding what is too much is cut off on both sides, the smaller half in front; `same` gives
    /// extent · stride. Dilation counts only beside an `outputShape`, else the format ignores it.
    private static func deconvolution(
        _ layer: Layer, _ value: Graph.Value, _ weights: Graph.Value, groups: Int, window: GraphBuilder.Window,
        outputShape: [Int], isFrontHeavy: Bool
    ) throws(Problem) -> Graph.Value {
        let (strides, count) = (window.strides, window.strides.count)
        let none = Array(repeating: 0, count: count)
        let dilations = outputShape.isEmpty ? none.map { _ in 1 } : window.dilations
        guard value.rank == count + 2, let filter = weights.staticShape else {
            throw Problem("cannot deconvolve an input of shape \(shapeText(value.shape))")
        }
        var (begin, end, extra) = (none, none, none)
        var isPadded = false
        if case .amounts(let front, let behind) = window.padding {
            (begin, end) = (front, behind)
            isPadded = (front + behind).contains { $0 > 0 }
            if outputShape.isEmpty {
                return try layer.graph.transposedConvolution(
                    value, weights, groups: groups, strides: strides, dilations: dilations, begin: begin, end: end,
                    extra: extra)
            }
        }
        for axis in 0..<count {
            let reach = (filter[axis + 2] - 1) * dilations[axis] + 1
            // Without a size the result is extent · stride: what is too much does not depend on the extent.
            var surplus = reach - strides[axis]
            if !outputShape.isEmpty {
                guard let extent = value.shape[axis + 2] else {
                    throw Problem("a deconvolution to a given size needs an input of fixed size")
                }
                surplus = (extent - 1) * strides[axis] + reach - outputShape[axis]
            }
            if !isPadded {
                let total = max(0, surplus)
                begin[axis] = isFrontHeavy ? total - total / 2 : total / 2
            }
            end[axis] = max(0, surplus - begin[axis])
            extra[axis] = max(0, begin[axis] - surplus)
        }
        return try layer.graph.transposedConvolution(
            value, weights, groups: groups, strides: strides, dilations: dilations, begin: begin, end: end, extra: extra
        )
    }

    private static func convolution3D(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let value = try layer.array()
        guard value.rank == 5 else {
            throw Problem("expected an input with five axes, found shape \(shapeText(value.shape))")
        }
        let outputs = try layer.size(1, "outputChannels")
        let inputs = try layer.size(2, "inputChannels")
        let groups = try layer.size(10, "nGroups", default: 1)
        var (kernel, strides, dilations): ([Int], [Int], [Int]) = ([], [], [])
        for axis in 0..<3 {
            kernel.append(try layer.size(20 + axis, "kernel size", default: 3))
            strides.append(try layer.size(31 + axis, "stride", default: 1))
            dilations.append(try layer.size(40 + axis, "dilation", default: 1))
        }
        guard inputs % groups == 0, outputs % groups == 0 else {
            throw Problem("\(inputs) input channels and \(outputs) output channels do not divide into \(groups) groups")
        }
        let window = GraphBuilder.Window(
            strides: strides, dilations: dilations, padding: try padding3D(layer, type: 70, amounts: 80))
        var result: Graph.Value
        if try layer.parameters.bool(86) {
            let weights = try layer.constant(60, "weights", shape: [inputs, outputs / groups] + kernel)
            let outputShape = try layer.parameters.integers(87)
            result = try deconvolution(
                layer, value, weights, groups: groups, window: window,
                outputShape: outputShape.isEmpty ? [] : layer.sizes(87, "outputShape", default: [1, 1, 1]),
                isFrontHeavy: false)
        } else {
            let weights = try layer.constant(
                60, "weights", shape: [outputs, inputs / groups] + kernel, channels: outputs)
            result = try layer.graph.convolution(value, weights, groups: groups, window: window)
        }
        if try layer.parameters.bool(50) {
            result = try layer.graph.add(
                result, layer.constant(61, "bias", shape: [1, outputs, 1, 1, 1], channels: outputs))
        }
        return [Blob(result)]
    }

    /// The padding of three axes: custom amounts (front, back, top, bottom, left, right), valid, same.
    static func padding3D(_ layer: Layer, type: Int, amounts: Int) throws(Problem) -> GraphBuilder.Window.Padding {
        switch try layer.parameters.integer(type) {
        case 0:
            var sides: [Int] = []
            for side in 0..<6 { sides.append(try layer.parameters.integer(amounts + side)) }
            return .amounts(begin: [sides[0], sides[2], sides[4]], end: [sides[1], sides[3], sides[5]])
        case 2: return .sameUpper
        default: return .amounts(begin: [0, 0, 0], end: [0, 0, 0])
        }
    }
}

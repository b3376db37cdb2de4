/// convolution (and deconvolution), convolution3d.
enum ConvolutionLayers {
    static let table: [LayerTranslator] = [
        .ofImages(100, "convolution", convolution), .ofArrays(1471, "convolution3d", convolution3D),
    ]

    /// The field numbers of a layer.
    private struct Fields {
        let isTransposed: Int, outputShape: Int, weights: Int, hasBias: Int, bias: Int
    }

    private static func convolution(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let window = GraphBuilder.Window(
            strides: try layer.sizes(30, "stride", default: [1, 1]),
            dilations: try layer.sizes(40, "dilationFactor", default: [1, 1]),
            padding: try padding(layer, valid: 50, same: 51))
        return try convolved(
            layer, x, inputs: layer.size(2, "kernelChannels"), kernel: layer.sizes(20, "kernelSize", default: [3, 3]),
            window, Fields(isTransposed: 60, outputShape: 100, weights: 90, hasBias: 70, bias: 91))
    }

    private static func convolution3D(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        guard x.rank == 5 else {
            throw Problem("expected an input with five axes, found shape \(shapeText(x.shape))")
        }
        let (inputs, groups) = (try layer.size(2, "inputChannels"), try layer.size(10, "nGroups", default: 1))
        let isTransposed = try layer.parameters.bool(86)
        guard isTransposed || inputs % groups == 0 else {
            throw Problem("\(inputs) input channels do not divide into \(groups) groups")
        }
        let window = GraphBuilder.Window(
            strides: try layer.triple(31, "stride", default: 1),
            dilations: try layer.triple(40, "dilation", default: 1),
            padding: try padding3D(layer, type: 70, amounts: 80))
        return try convolved(
            layer, x, inputs: isTransposed ? inputs : inputs / groups,
            kernel: layer.triple(20, "kernel size", default: 3), window,
            Fields(isTransposed: 86, outputShape: 87, weights: 60, hasBias: 50, bias: 61))
    }

    /// - Parameter inputs: the second extent of the weights; for a transposed convolution, the first.
    private static func convolved(
        _ layer: Layer, _ x: Graph.Value, inputs: Int, kernel: [Int], _ window: GraphBuilder.Window, _ fields: Fields
    ) throws(Problem) -> Graph.Value {
        let (graph, parameters) = (layer.graph, layer.parameters)
        let (outputs, groups) = (try layer.size(1, "outputChannels"), try layer.size(10, "nGroups", default: 1))
        var result: Graph.Value
        if try parameters.bool(fields.isTransposed) {
            guard outputs % groups == 0 else {
                throw Problem("\(outputs) output channels do not divide into \(groups) groups")
            }
            let weights = try layer.constant(
                fields.weights, "weights", shape: [inputs, outputs / groups] + kernel, channels: outputs / groups,
                perChannel: kernel.reduce(1, *))
            result = try deconvolution(layer, x, weights, groups: groups, window, outputShape: fields.outputShape)
        } else {
            let weights = try layer.constant(
                fields.weights, "weights", shape: [outputs, inputs] + kernel, channels: outputs)
            result = try graph.convolution(x, weights, groups: groups, window: window)
        }
        guard try parameters.bool(fields.hasBias) else { return result }
        return try graph.add(
            result,
            layer.constant(fields.bias, "bias", shape: [1, outputs] + kernel.map { _ in 1 }, channels: outputs))
    }

    /// The transposed convolution. The format ignores dilation unless there is an `outputShape`.
    private static func deconvolution(
        _ layer: Layer, _ x: Graph.Value, _ weights: Graph.Value, groups: Int, _ window: GraphBuilder.Window,
        outputShape: Int
    ) throws(Problem) -> Graph.Value {
        var (window, size) = (window, nil as [Int]?)
        if try layer.parameters.integers(outputShape).isEmpty {
            window.dilations = window.dilations.map { _ in 1 }
        } else {
            size = try layer.sizes(outputShape, "outputShape", default: window.strides)
            guard !x.shape.dropFirst(2).contains(nil) else {
                throw Problem("a deconvolution to a given size needs an input of fixed size")
            }
        }
        return try layer.graph.transposedConvolution(
            x, weights, groups: groups, window: window, size: size, isCentered: true)
    }

    /// The padding of ConvolutionPaddingType and PoolingPaddingType: `valid` with amounts, or `same`. If unset, `valid`
    /// without padding.
    static func padding(_ layer: Layer, valid: Int, same: Int) throws(Problem) -> GraphBuilder.Window.Padding {
        if let same = try layer.parameters.message(same) {
            return try same.integer(1) == 1 ? .sameLower : .sameUpper
        }
        let amounts = try borders(layer.parameters.message(valid)?.message(1))
        return .amounts(begin: amounts.begin, end: amounts.end)
    }

    /// BorderAmounts: [H, W] before and after. Zeros if unset.
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

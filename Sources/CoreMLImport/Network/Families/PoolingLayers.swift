/// pooling: maximum, average and L2, over windows or the whole picture; pooling3d, globalPooling3d.
enum PoolingLayers {
    static let table: [LayerTranslator] = [
        .ofImages(120, "pooling", pooling), .ofArrays(1465, "pooling3d", pooling3D),
        .ofArrays(1466, "globalPooling3d") { (layer, x) throws(Problem) in
            try layer.graph.reduce(
                fiveAxes(x), by: layer.parameters.integer(1) == 0 ? .max : .mean, axes: [2, 3, 4], keepsAxes: true)
        },
    ]

    private enum Function: Int {
        case maximum, average, length

        var reduction: Reduction {
            switch self {
            case .maximum: .max
            case .average: .mean
            case .length: .l2
            }
        }
    }

    private static func pooling(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let type = try layer.parameters.integer(1)
        guard let function = Function(rawValue: type) else { throw Problem("unknown pooling type \(type)") }
        let graph = layer.graph
        if try layer.parameters.bool(60) {
            return try graph.reduce(x, by: function.reduction, axes: [2, 3], keepsAxes: true)
        }
        let kernel = try layer.sizes(10, "kernelSize", default: [3, 3])
        var window = GraphBuilder.Window(
            strides: try layer.sizes(20, "stride", default: [1, 1]), dilations: [1, 1],
            padding: try ConvolutionLayers.padding(layer, valid: 30, same: 31))
        let excludesPadding = try layer.parameters.bool(50)
        if let complete = try layer.parameters.message(32) {
            let amounts = try complete.integers(10)
            guard amounts.isEmpty || amounts.count == 2 && amounts.allSatisfy({ $0 >= 0 && $0 <= 1 << 24 }) else {
                throw Problem("includeLastPixel has the padding \(amounts): expected two amounts")
            }
            let sides = amounts.isEmpty ? [0, 0] : amounts
            window.padding = .amounts(begin: sides, end: sides)
            return try includingLastPixel(graph, x, kernel, window, function, excludesPadding: excludesPadding)
        }
        switch function {
        case .maximum: return try graph.maxPool(x, kernel: kernel, window: window)
        case .average:
            return try graph.averagePool(x, kernel: kernel, window: window, excludesPadding: excludesPadding)
        case .length: return try graph.lengthPool(x, kernel: kernel, window: window)
        }
    }

    /// The number of windows is rounded up; if there is padding, a last window that begins after the input and its
    /// padding in front is omitted. The last window may extend beyond the padding, and engines differ in how they
    /// handle that, so the input is padded explicitly to the end of the last window.
    private static func includingLastPixel(
        _ graph: GraphBuilder, _ x: Graph.Value, _ kernel: [Int], _ window: GraphBuilder.Window, _ function: Function,
        excludesPadding: Bool
    ) throws(Problem) -> Graph.Value {
        let fill = function == .maximum ? -Float.greatestFiniteMagnitude : 0
        let (source, plain) = try extended(graph, x, kernel, window, fill: fill)
        switch function {
        case .maximum: return try graph.maxPool(source, kernel: kernel, window: plain)
        case .length: return try graph.lengthPool(source, kernel: kernel, window: plain)
        case .average: break
        }
        let means = try graph.averagePool(source, kernel: kernel, window: plain, excludesPadding: false)
        // Correct each mean by the share of its elements that count: those of the input, or of the input and its
        // padding.
        guard let shape = x.staticShape, case .amounts(let begin, _) = window.padding else { return means }
        var result = means
        for axis in 0..<2 {
            let extent = shape[axis + 2]
            let counted = excludesPadding ? begin[axis]..<begin[axis] + extent : 0..<extent + 2 * begin[axis]
            let outputs = means.shape[axis + 2] ?? 0
            guard outputs <= 1 << 16 else { throw Problem("too many windows along an axis: \(outputs)") }
            let shares = (0..<outputs).map { index in
                let first = index * window.strides[axis]
                let inside = counted.clamped(to: first..<first + kernel[axis]).count
                return inside == 0 ? 0 : Float(kernel[axis]) / Float(inside)
            }
            result = try graph.multiply(result, graph.floats(shares, shape: [outputs] + (axis == 0 ? [1] : [])))
        }
        return result
    }

    /// The value padded (or cropped) to the end of the last window, and a window without padding.
    private static func extended(
        _ graph: GraphBuilder, _ value: Graph.Value, _ kernel: [Int], _ window: GraphBuilder.Window, fill: Float
    ) throws(Problem) -> (Graph.Value, GraphBuilder.Window) {
        guard let shape = value.staticShape, case .amounts(let begin, _) = window.padding else {
            throw Problem("includeLastPixel needs an input of fixed size")
        }
        var after: [Int] = []
        for axis in 0..<2 {
            let (extent, stride) = (shape[axis + 2], window.strides[axis])
            let covered = extent + 2 * begin[axis] - kernel[axis]
            guard covered >= 0 else {
                throw Problem("a window of \(kernel) is larger than the input \(shapeText(value.shape))")
            }
            var outputs = (covered + stride - 1) / stride + 1
            if begin.contains(where: { $0 > 0 }), (outputs - 1) * stride >= extent + begin[axis] { outputs -= 1 }
            after.append((outputs - 1) * stride + kernel[axis] - extent - begin[axis])
        }
        let padded = try graph.pad(value, before: [0, 0] + begin, after: [0, 0] + after, with: fill)
        var plain = window
        plain.padding = .amounts(begin: [0, 0], end: [0, 0])
        return (padded, plain)
    }

    private static func pooling3D(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let kernel = try layer.triple(2, "kernel size", default: 3)
        let window = GraphBuilder.Window(
            strides: try layer.triple(5, "stride", default: 1), dilations: [1, 1, 1],
            padding: try ConvolutionLayers.padding3D(layer, type: 15, amounts: 8))
        let excludesPadding = try layer.parameters.bool(14)
        return try layer.parameters.integer(1) == 0
            ? layer.graph.maxPool(fiveAxes(x), kernel: kernel, window: window)
            : layer.graph.averagePool(fiveAxes(x), kernel: kernel, window: window, excludesPadding: excludesPadding)
    }

    private static func fiveAxes(_ x: Graph.Value) throws(Problem) -> Graph.Value {
        guard x.rank == 5 else {
            throw Problem("expected an input with five axes, found shape \(shapeText(x.shape))")
        }
        return x
    }
}

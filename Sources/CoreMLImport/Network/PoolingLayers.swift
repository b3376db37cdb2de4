/// pooling: maximum, average and L2, over windows or all; pooling3d, globalPooling3d.
enum PoolingLayers {
    static let table = [
        LayerTranslator(120, "pooling", pooling), LayerTranslator(1465, "pooling3d", pooling3D),
        LayerTranslator(1466, "globalPooling3d", globalPooling3D),
    ]

    private static func pooling(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        let type = try layer.parameters.integer(1)
        let graph = layer.graph
        if try layer.parameters.bool(60) {
            let global: Graph.Value
            switch type {
            case 0: global = try graph.reduce("ReduceMax", value, axes: [2, 3], keepsAxes: true)
            case 1: global = try graph.reduce("ReduceMean", value, axes: [2, 3], keepsAxes: true)
            case 2:
                let squares = try graph.multiply(value, value)
                global = graph.unary("Sqrt", try graph.reduce("ReduceSum", squares, axes: [2, 3], keepsAxes: true))
            default: throw Problem("unknown pooling type \(type)")
            }
            return [try back(global)]
        }
        let kernel = try layer.sizes(10, "kernelSize", default: [3, 3])
        var window = GraphBuilder.Window(
            strides: try layer.sizes(20, "stride", default: [1, 1]), dilations: [1, 1],
            padding: try ConvolutionLayers.padding(layer, valid: 30, same: 31))
        var source = value
        var roundsUp = false
        if let complete = try layer.parameters.message(32) {
            let amounts = try complete.integers(10)
            guard amounts.isEmpty || amounts.count == 2 && amounts.allSatisfy({ $0 >= 0 && $0 <= 1 << 24 }) else {
                throw Problem("includeLastPixel has the padding \(amounts): expected two amounts")
            }
            let sides = amounts.isEmpty ? [0, 0] : amounts
            window.padding = .amounts(begin: sides, end: sides)
            roundsUp = true
        }
        let excludesPadding = try layer.parameters.bool(50)
        if roundsUp, type != 0 || window.isPadded {
            // The last window may reach beyond the padding, and engines differ in how they count that. Said with numbers:
            // pad to where the windows end.
            return [try back(try complete(layer, value, kernel, window, type: type, excludesPadding: excludesPadding))]
        }
        if roundsUp {
            (source, window) = try extended(graph, value, kernel, window, fill: -.greatestFiniteMagnitude)
        }
        switch type {
        case 0: return [try back(try graph.maxPool(source, kernel: kernel, window: window))]
        case 1:
            return [
                try back(
                    try graph.averagePool(source, kernel: kernel, window: window, excludesPadding: excludesPadding))
            ]
        case 2: return [try back(try squareRoot(graph, source, kernel, window))]
        default: throw Problem("unknown pooling type \(type)")
        }
    }

    private static func squareRoot(
        _ graph: GraphBuilder, _ value: Graph.Value, _ kernel: [Int], _ window: GraphBuilder.Window
    ) throws(Problem) -> Graph.Value {
        let squares = try graph.multiply(value, value)
        let means = try graph.averagePool(squares, kernel: kernel, window: window, excludesPadding: false)
        return graph.unary("Sqrt", try graph.scaled(means, by: Float(kernel.reduce(1) { $0 * $1 })))
    }

    /// includeLastPixel: the outputs are rounded up; where there is padding, a last window that begins beyond the input and its
    /// padding in front is left out.
    private static func complete(
        _ layer: Layer, _ value: Graph.Value, _ kernel: [Int], _ window: GraphBuilder.Window, type: Int,
        excludesPadding: Bool
    ) throws(Problem) -> Graph.Value {
        let graph = layer.graph
        switch type {
        case 0:
            let (source, plain) = try extended(graph, value, kernel, window, fill: -.greatestFiniteMagnitude)
            return try graph.maxPool(source, kernel: kernel, window: plain)
        case 1:
            let (source, plain) = try extended(graph, value, kernel, window, fill: 0)
            let means = try graph.averagePool(source, kernel: kernel, window: plain, excludesPadding: false)
            // Each window's share of elements that count: those of the input, or those of the input and its padding.
            guard let shape = value.staticShape, case .amounts(let begin, _) = window.padding else {
                throw Problem("includeLastPixel needs an input of fixed size")
            }
            var shares: [[Float]] = []
            for axis in 0..<2 {
                let extent = shape[axis + 2]
                let counted =
                    excludesPadding ? begin[axis]..<begin[axis] + extent : 0..<extent + 2 * begin[axis]
                let outputs = means.shape[axis + 2] ?? 0
                guard outputs <= 1 << 16 else { throw Problem("too many windows along an axis: \(outputs)") }
                shares.append(
                    (0..<outputs).map { index in
                        let first = index * window.strides[axis]
                        let inside = counted.clamped(to: first..<first + kernel[axis]).count
                        return inside == 0 ? 0 : Float(kernel[axis]) / Float(inside)
                    })
            }
            let rows = try graph.floats(shares[0], shape: [1, 1, shares[0].count, 1])
            let columns = try graph.floats(shares[1], shape: [1, 1, 1, shares[1].count])
            return try graph.multiply(graph.multiply(means, rows), columns)
        case 2:
            let (source, plain) = try extended(graph, value, kernel, window, fill: 0)
            return try squareRoot(graph, source, kernel, plain)
        default: throw Problem("unknown pooling type \(type)")
        }
    }

    /// The value padded to exactly where the last window ends (or cut, where the last window ends before), and a window without
    /// padding.
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

    private static func pooling3D(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let value = try layer.array()
        guard value.rank == 5 else {
            throw Problem("expected an input with five axes, found shape \(shapeText(value.shape))")
        }
        var (kernel, strides): ([Int], [Int]) = ([], [])
        for axis in 0..<3 {
            kernel.append(try layer.size(2 + axis, "kernel size", default: 3))
            strides.append(try layer.size(5 + axis, "stride", default: 1))
        }
        let window = GraphBuilder.Window(
            strides: strides, dilations: [1, 1, 1],
            padding: try ConvolutionLayers.padding3D(layer, type: 15, amounts: 8))
        let excludesPadding = try layer.parameters.bool(14)
        return [
            Blob(
                try layer.parameters.integer(1) == 0
                    ? layer.graph.maxPool(value, kernel: kernel, window: window)
                    : layer.graph.averagePool(value, kernel: kernel, window: window, excludesPadding: excludesPadding))
        ]
    }

    private static func globalPooling3D(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let value = try layer.array()
        guard value.rank == 5 else {
            throw Problem("expected an input with five axes, found shape \(shapeText(value.shape))")
        }
        let type = try layer.parameters.integer(1) == 0 ? "ReduceMax" : "ReduceMean"
        return [Blob(try layer.graph.reduce(type, value, axes: [2, 3, 4], keepsAxes: true))]
    }
}

extension GraphBuilder.Window {
    fileprivate var isPadded: Bool {
        if case .amounts(let begin, _) = padding { begin.contains { $0 > 0 } } else { true }
    }
}

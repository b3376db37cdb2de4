/// Layers that create values: loadConstant, loadConstantND, fill…, range….
enum ConstantLayers {
    static let table: [LayerTranslator] = [
        LayerTranslator(290, "loadConstant") { (layer) throws(Problem) in
            let shape = try layer.shape(1, "shape")
            guard shape.count == 3 else { throw Problem("the shape is \(shape): expected three extents") }
            return [Blob(try layer.constant(2, "data", shape: [1] + shape, channels: shape[0]), isFolded: true)]
        },
        LayerTranslator(1070, "loadConstantND") { (layer) throws(Problem) in
            let shape = try layer.shape(1, "shape")
            return [Blob(try layer.constant(2, "data", shape: shape, channels: shape.first ?? 1))]
        },
        .ofElements(1080, "fillLike") { (layer, x) throws(Problem) in
            layer.graph.broadcast(try filler(layer), toComputed: layer.graph.shape(of: x), shape: x.shape)
        },
        LayerTranslator(1085, "fillStatic") { (layer) throws(Problem) in
            [Blob(layer.graph.broadcast(try filler(layer), to: try layer.shape(2, "targetShape")))]
        },
        LayerTranslator(1090, "fillDynamic") { (layer) throws(Problem) in
            let (target, shape) = try layer.targetShape()
            return [Blob(layer.graph.broadcast(try filler(layer), toComputed: target, shape: shape))]
        },
        LayerTranslator(635, "rangeStatic", range), LayerTranslator(640, "rangeDynamic", range),
    ]

    private static func filler(_ layer: Layer) throws(Problem) -> Graph.Value {
        layer.graph.float(try layer.parameters.float(1))
    }

    /// The end is the first input, or a parameter; start and step follow.
    private static func range(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(0...3)
        let graph = layer.graph
        var numbers: [Graph.Value] = []
        for index in 0..<3 {
            numbers.append(
                try index < layer.inputs.count
                    ? graph.scalar(of: layer.array(index)) : graph.float(layer.parameters.float(index + 1)))
        }
        var count: Int?
        let known = numbers.compactMap { graph.numbers(of: $0)?.first.map { Float($0) } }
        if known.count == 3 {
            let steps = ((known[0] - known[1]) / known[2]).rounded(.up)
            guard steps > 0, steps <= Float(1 << 24) else {
                throw Problem("unsupported range from \(known[1]) to \(known[0]) by \(known[2])")
            }
            count = Int(steps)
        }
        return [Blob(graph.range(from: numbers[1], to: numbers[0], by: numbers[2], type: .f32, count: count))]
    }
}

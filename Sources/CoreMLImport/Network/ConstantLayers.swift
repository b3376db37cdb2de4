/// Layers that make values: loadConstant, loadConstantND, fill…, range….
enum ConstantLayers {
    static let table = [
        LayerTranslator(290, "loadConstant") { (layer) throws(Problem) in
            let shape = try layer.shape(1, "shape")
            guard shape.count == 3 else { throw Problem("the shape is \(shape): expected three extents") }
            return [Blob(try layer.constant(2, "data", shape: [1] + shape, channels: shape[0]), isFolded: true)]
        },
        LayerTranslator(1070, "loadConstantND") { (layer) throws(Problem) in
            let shape = try layer.shape(1, "shape")
            return [Blob(try layer.constant(2, "data", shape: shape, channels: shape.first ?? 1))]
        },
        LayerTranslator(1080, "fillLike") { (layer) throws(Problem) in
            let blob = try layer.input()
            let value = layer.graph.operation(
                "Broadcast", 3, [layer.graph.float(try layer.parameters.float(1)), layer.graph.shape(of: blob.value)],
                ["mode": "numpy"], shape: blob.value.shape)
            return [Blob(value, isFolded: blob.isFolded)]
        },
        LayerTranslator(1085, "fillStatic") { (layer) throws(Problem) in
            let shape = try layer.shape(2, "targetShape")
            return [Blob(layer.graph.broadcast(layer.graph.float(try layer.parameters.float(1)), to: shape))]
        },
        LayerTranslator(1090, "fillDynamic") { (layer) throws(Problem) in
            let (target, rank) = try layer.targetShape()
            let value = layer.graph.float(try layer.parameters.float(1))
            if let known = layer.graph.integers(of: target), known.allSatisfy({ $0 >= 0 }) {
                return [Blob(layer.graph.broadcast(value, to: known))]
            }
            return [
                Blob(
                    layer.graph.operation(
                        "Broadcast", 3, [value, layer.graph.convert(target, to: .i64)], ["mode": "numpy"],
                        shape: [Int?](repeating: nil, count: rank)))
            ]
        },
        LayerTranslator(635, "rangeStatic", range), LayerTranslator(640, "rangeDynamic", range),
    ]

    /// The end comes as the first input, or is the parameter; then start and step.
    private static func range(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(0...3)
        let graph = layer.graph
        func number(_ index: Int, _ field: Int) throws(Problem) -> Graph.Value {
            guard index < layer.inputs.count else { return graph.float(try layer.parameters.float(field)) }
            let value = try layer.array(index)
            return try graph.squeeze(value, Array(0..<value.rank))
        }
        let end = try number(0, 1)
        let start = try number(1, 2)
        let step = try number(2, 3)
        var count: Int?
        func known(_ value: Graph.Value) -> Float? { graph.numbers(of: value)?.first.map { Float($0) } }
        if let from = known(start), let to = known(end), let by = known(step) {
            let steps = ((to - from) / by).rounded(.up)
            guard steps > 0, steps <= Float(1 << 24) else {
                throw Problem("unsupported range from \(from) to \(to) by \(by)")
            }
            count = Int(steps)
        }
        return [
            Blob(
                graph.operation("Range", 4, [start, end, step], ["output_type": "f32"], type: .f32, shape: [count]))
        ]
    }
}

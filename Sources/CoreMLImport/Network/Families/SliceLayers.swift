/// slice, sliceStatic, sliceDynamic, sliceBySize, crop.
enum SliceLayers {
    static let table: [LayerTranslator] = [
        LayerTranslator(350, "slice") { (layer) throws(Problem) in
            let translator = LayerTranslator.ofElements(350, "slice", slice)
            return try (layer.parameters.integer(4) == 0 ? translator.onChannels : translator).translate(layer)
        },
        .ofArrays(995, "sliceStatic") { (layer, x) throws(Problem) in
            try slice(layer, x, begins: layer.parameters.integers(1), ends: layer.parameters.integers(3))
        },
        .ofArrays(1000, "sliceDynamic", inputs: 2...4, sliceDynamic),
        .ofArrays(1470, "sliceBySize", inputs: 2...2, sliceBySize), .ofImages(190, "crop", inputs: 1...2, crop),
    ]

    private static func slice(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let (axis, step) = (try layer.parameters.integer(4), try layer.size(3, "stride", default: 1))
        guard (0...2).contains(axis) else { throw Problem("unknown axis \(axis)") }
        return try notEmpty(
            layer.graph.slice(
                x, axes: [axis - 3], starts: [layer.parameters.integer(1)], ends: [layer.parameters.integer(2)],
                steps: [step]))
    }

    private static func notEmpty(_ value: Graph.Value) throws(Problem) -> Graph.Value {
        guard !value.shape.contains(0) else { throw Problem("the slice is empty: \(shapeText(value.shape))") }
        return value
    }

    private static func slice(_ layer: Layer, _ x: Graph.Value, begins: [Int], ends: [Int]) throws(Problem)
        -> Graph.Value
    {
        let masks = try masks(layer, x.rank)
        let (starts, stops, steps) = try masks.applied(
            begins: begins, ends: ends, steps: list(layer, 5, "strides", x.rank, default: 1))
        let result = try layer.graph.slice(x, axes: Array(0..<x.rank), starts: starts, ends: stops, steps: steps)
        return try layer.graph.squeeze(notEmpty(result), masks.squeezed)
    }

    private static func masks(_ layer: Layer, _ rank: Int) throws(Problem) -> SliceMasks {
        func mask(_ field: Int, _ name: String) throws(Problem) -> [Bool] {
            try list(layer, field, name, rank, default: 0).map { $0 != 0 }
        }
        let squeeze = try mask(6, "squeezeMasks")
        return SliceMasks(
            begin: zip(try mask(2, "beginMasks"), squeeze).map { $0 && !$1 }, end: try mask(4, "endMasks"),
            squeeze: squeeze)
    }

    private static func list(_ layer: Layer, _ field: Int, _ name: String, _ rank: Int, default value: Int)
        throws(Problem) -> [Int]
    {
        let list = try layer.parameters.integers(field)
        if list.isEmpty { return Array(repeating: value, count: rank) }
        guard list.count >= rank else { throw Problem("\(name) has \(list.count) of \(rank) axes") }
        // coremltools writes five numbers for any rank.
        return Array(list.prefix(rank))
    }

    /// sliceStatic with inputs for begin, and optionally for end, strides and the masks (which usually are parameters
    /// of the layer).
    private static func sliceDynamic(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let (graph, rank, count) = (layer.graph, x.rank, layer.inputs.count)
        let ownEnds = try list(layer, 3, "endIds", rank, default: 0)
        // Known numbers result in a known shape.
        if count < 4, let begins = graph.integers(of: try layer.array(1)),
            let ends = count > 2 ? graph.integers(of: try layer.array(2)) : ownEnds
        {
            return try slice(layer, x, begins: begins, ends: ends)
        }
        func given(_ index: Int, or list: [Int]) throws(Problem) -> Graph.Value {
            index < count ? graph.convert(try layer.array(index), to: .i64) : graph.integers(list)
        }
        let masks = try masks(layer, rank)
        func bits(_ mask: [Bool]) -> Graph.Attribute { .integers(mask.map { $0 ? 1 : 0 }) }
        let none = bits(masks.begin.map { _ in false })
        let inputs = [
            x, try given(1, or: []), try given(2, or: ownEnds),
            try given(3, or: list(layer, 5, "strides", rank, default: 1)),
        ]
        return graph.operation(
            "StridedSlice", 1, inputs,
            [
                "begin_mask": bits(masks.begin), "end_mask": bits(masks.end), "new_axis_mask": none,
                "shrink_axis_mask": bits(masks.squeeze), "ellipsis_mask": none,
            ], shape: [Int?](repeating: nil, count: rank - masks.squeezed.count))
    }

    /// `size` elements along an axis, beginning at the second input.
    private static func sliceBySize(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let (graph, size) = (layer.graph, try layer.size(2, "size"))
        let axis = try positiveAxis(layer.parameters.integer(3), rank: x.rank)
        guard size <= x.shape[axis] ?? size, size <= 1 << 20 else {
            throw Problem("cannot take \(size) elements of axis \(axis) of \(shapeText(x.shape))")
        }
        let begin = graph.convert(try graph.reshape(layer.array(1), to: [1]), to: .i64)
        return try graph.gather(x, graph.add(begin, graph.integers(Array(0..<size))), axis: axis)
    }

    private static func crop(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        var starts: [Int]
        var ends: [Int]
        if layer.inputs.count == 2 {
            let sizes = try layer.spatial(1).value.shape[2...].compactMap { $0 }
            guard sizes.count == 2, x.shape[2] != nil, x.shape[3] != nil else {
                throw Problem("one of the inputs \(shapeText(x.shape)) and \(sizes) has open extents")
            }
            let offset = try layer.parameters.integers(5)
            starts = offset.isEmpty ? [0, 0] : offset
            guard starts.count == 2, starts.allSatisfy({ $0 >= 0 && $0 <= 1 << 24 }) else {
                throw Problem("the offset is \(offset): expected two numbers")
            }
            ends = zip(starts, sizes).map { $0 + $1 }
        } else {
            let amounts = try ConvolutionLayers.borders(layer.parameters.message(1))
            starts = amounts.begin
            // For open extents, count ends from the back.
            ends = zip(amounts.end, x.shape[2...]).map { end, extent in
                extent.map { $0 - end } ?? (end == 0 ? Int(Int32.max) : -end)
            }
        }
        for (axis, extent) in x.shape[2...].enumerated() {
            guard let extent else { continue }
            guard starts[axis] < ends[axis], ends[axis] <= extent else {
                throw Problem("\(starts[axis])..<\(ends[axis]) of axis \(axis + 2) of \(shapeText(x.shape))")
            }
        }
        return try layer.graph.slice(x, axes: [2, 3], starts: starts, ends: ends, steps: [1, 1])
    }
}

/// slice, sliceStatic, sliceDynamic, sliceBySize, crop.
enum SliceLayers {
    static let table = [
        LayerTranslator(350, "slice") { (layer) throws(Problem) in
            try layer.parameters.integer(4) == 0 ? layer.onChannels(slice) : slice(layer)
        },
        LayerTranslator(995, "sliceStatic", sliceStatic),
        LayerTranslator(1000, "sliceDynamic", sliceDynamic), LayerTranslator(1470, "sliceBySize", sliceBySize),
        LayerTranslator(190, "crop", crop),
    ]

    private static func slice(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (blob, parameters) = (try layer.input(), layer.parameters)
        let axis = try parameters.integer(4)
        guard (0...2).contains(axis) else { throw Problem("unknown axis \(axis)") }
        let step = try layer.size(3, "stride", default: 1)
        let value = try layer.graph.slice(
            blob.value, axes: [axis - 3], starts: [parameters.integer(1)], ends: [parameters.integer(2)], steps: [step])
        return [Blob(try notEmpty(value), isFolded: blob.isFolded)]
    }

    private static func notEmpty(_ value: Graph.Value) throws(Problem) -> Graph.Value {
        guard !value.shape.contains(0) else { throw Problem("the slice is empty: \(shapeText(value.shape))") }
        return value
    }

    /// Masks select the beginning or the end of an axis; squeezed axes are one element, and removed.
    private static func sliceStatic(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let value = try layer.array()
        return [Blob(try slice(layer, value, begins: layer.parameters.integers(1), ends: layer.parameters.integers(3)))]
    }

    private static func slice(_ layer: Layer, _ value: Graph.Value, begins: [Int], ends: [Int]) throws(Problem)
        -> Graph.Value
    {
        let rank = value.rank
        guard begins.count == rank, ends.count == rank else {
            throw Problem("there are \(begins.count) begins and \(ends.count) ends for \(rank) axes")
        }
        let steps = try list(layer, 5, "strides", rank, default: 1)
        let masks = (
            begin: try list(layer, 2, "beginMasks", rank, default: 0),
            end: try list(layer, 4, "endMasks", rank, default: 0),
            squeeze: try list(layer, 6, "squeezeMasks", rank, default: 0)
        )
        var (starts, stops, strides, squeezed): ([Int], [Int], [Int], [Int]) = ([], [], [], [])
        for axis in 0..<rank {
            if masks.squeeze[axis] != 0 {
                squeezed.append(axis)
                starts.append(begins[axis])
                stops.append(begins[axis] == -1 ? Int(Int32.max) : begins[axis] &+ 1)
                strides.append(1)
                continue
            }
            let backward = steps[axis] < 0
            starts.append(
                masks.begin[axis] != 0 ? (backward ? Int(Int32.max) : 0) : begins[axis])
            stops.append(
                masks.end[axis] != 0 ? (backward ? Int(Int32.min) : Int(Int32.max)) : ends[axis])
            strides.append(steps[axis])
        }
        let result = try notEmpty(
            layer.graph.slice(value, axes: Array(0..<rank), starts: starts, ends: stops, steps: strides))
        return try layer.graph.squeeze(result, squeezed.count == rank ? Array(squeezed.dropLast()) : squeezed)
    }

    private static func list(_ layer: Layer, _ field: Int, _ name: String, _ rank: Int, default value: Int)
        throws(Problem) -> [Int]
    {
        let list = try layer.parameters.integers(field)
        if list.isEmpty { return Array(repeating: value, count: rank) }
        guard list.count >= rank else { throw Problem("\(name) has \(list.count) of \(rank) axes") }
        // coremltools writes five numbers whatever the rank.
        return Array(list.prefix(rank))
    }

    /// As sliceStatic, with what is sliced given by inputs: begin, and perhaps end, strides and the masks (which are numbers of
    /// the layer as a rule).
    private static func sliceDynamic(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...4)
        let (value, graph) = (try layer.array(), layer.graph)
        let rank = value.rank
        // Known numbers give a known shape.
        if layer.inputs.count < 4, let begins = graph.integers(of: try layer.array(1)),
            let ends = layer.inputs.count > 2
                ? graph.integers(of: try layer.array(2)) : try list(layer, 3, "endIds", rank, default: 0)
        {
            return [Blob(try slice(layer, value, begins: begins, ends: ends))]
        }
        let begins = graph.convert(try layer.array(1), to: .i64)
        var ends = graph.integers(try list(layer, 3, "endIds", rank, default: 0))
        if layer.inputs.count > 2 { ends = graph.convert(try layer.array(2), to: .i64) }
        var steps = graph.integers(try list(layer, 5, "strides", rank, default: 1))
        if layer.inputs.count > 3 { steps = graph.convert(try layer.array(3), to: .i64) }
        let masks = (
            begin: try list(layer, 2, "beginMasks", rank, default: 0),
            end: try list(layer, 4, "endMasks", rank, default: 0),
            squeeze: try list(layer, 6, "squeezeMasks", rank, default: 0)
        )
        let none = Graph.Attribute.integers(masks.begin.map { _ in 0 })
        let shape: [Int?] = masks.squeeze.filter { $0 == 0 }.map { _ in nil }
        let result = graph.operation(
            "StridedSlice", 1, [value, begins, ends, steps],
            [
                "begin_mask": .integers(masks.begin), "end_mask": .integers(masks.end), "new_axis_mask": none,
                "shrink_axis_mask": .integers(masks.squeeze), "ellipsis_mask": none,
            ], shape: shape)
        return [Blob(result.rank == 0 ? try graph.unsqueeze(result, [0]) : result)]
    }

    /// `size` elements of an axis from where the second input says.
    private static func sliceBySize(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let (value, graph) = (try layer.array(), layer.graph)
        let axis = try positiveAxis(layer.parameters.integer(3), rank: value.rank)
        let size = try layer.size(2, "size")
        guard size <= value.shape[axis] ?? size, size <= 1 << 20 else {
            throw Problem("cannot take \(size) elements of axis \(axis) of \(shapeText(value.shape))")
        }
        let begin = graph.convert(try graph.reshape(layer.array(1), to: [1]), to: .i64)
        let indices = try graph.add(begin, graph.integers(Array(0..<size)))
        return [Blob(try graph.gather(value, indices, axis: axis))]
    }

    private static func crop(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (value, back) = try layer.spatial(0)
        guard let height = value.shape[2], let width = value.shape[3] else {
            guard layer.inputs.count == 1 else {
                throw Problem("the input \(shapeText(value.shape)) has open extents")
            }
            // Ends are counted from behind.
            let (begin, end) = try ConvolutionLayers.borders(layer.parameters.message(1))
            let ends = end.map { $0 == 0 ? Int(Int32.max) : -$0 }
            return [try back(try layer.graph.slice(value, axes: [2, 3], starts: begin, ends: ends, steps: [1, 1]))]
        }
        var starts: [Int]
        var ends: [Int]
        if layer.inputs.count == 2 {
            let model = try layer.spatial(1).value
            guard let newHeight = model.shape[2], let newWidth = model.shape[3] else {
                throw Problem("the second input \(shapeText(model.shape)) has open extents")
            }
            let offset = try layer.parameters.integers(5)
            starts = offset.isEmpty ? [0, 0] : offset
            guard starts.count == 2, starts.allSatisfy({ $0 >= 0 && $0 <= 1 << 24 }) else {
                throw Problem("the offset is \(offset): expected two numbers")
            }
            ends = [starts[0] + newHeight, starts[1] + newWidth]
        } else {
            let (begin, end) = try ConvolutionLayers.borders(layer.parameters.message(1))
            starts = begin
            ends = [height - end[0], width - end[1]]
        }
        guard starts[0] < ends[0], starts[1] < ends[1], ends[0] <= height, ends[1] <= width else {
            throw Problem(
                "rows \(starts[0])..<\(ends[0]), columns \(starts[1])..<\(ends[1]) of \(shapeText(value.shape))")
        }
        return [try back(try layer.graph.slice(value, axes: [2, 3], starts: starts, ends: ends, steps: [1, 1]))]
    }
}

/// Layers that give the same elements other axes: flatten, reshape…, permute, transpose, squeeze, expandDims, getShape.
enum ShapeLayers {
    static let table = [
        LayerTranslator(300, "reshape", reshape), LayerTranslator(301, "flatten", flatten),
        LayerTranslator(310, "permute", permute), LayerTranslator(985, "transpose", transpose),
        LayerTranslator(1120, "squeeze", squeeze), LayerTranslator(1125, "expandDims", expandDims),
        LayerTranslator(1130, "flattenTo2D", flattenTo2D), LayerTranslator(1140, "reshapeStatic", reshapeStatic),
        LayerTranslator(1150, "rankPreservingReshape", reshapeStatic),
        LayerTranslator(1135, "reshapeLike", reshapeLike),
        LayerTranslator(1145, "reshapeDynamic", reshapeDynamic), LayerTranslator(1065, "getShape", getShape),
    ]

    /// CHANNEL_LAST: in the order H, W, C.
    private static func flatten(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        var ordered = value
        if try layer.parameters.integer(1) == 1 { ordered = try layer.graph.transpose(value, [0, 2, 3, 1]) }
        guard let channels = value.shape[1], let height = value.shape[2], let width = value.shape[3] else {
            return [try back(try layer.graph.reshape(ordered, to: [0, -1, 1, 1]))]
        }
        guard let count = elementCount([channels, height, width]) else { throw Problem("the input is too large") }
        return [try back(try layer.graph.reshape(ordered, to: [0, count, 1, 1]))]
    }

    /// To [C, H, W], or [Seq, C, H, W]. CHANNEL_LAST: both the input and the target are read in the order H, W, C.
    private static func reshape(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        var target = try layer.parameters.integers(1)
        guard target.count == 3 || target.count == 4, target.allSatisfy({ $0 >= -1 && $0 <= Int(Int32.max) }) else {
            throw Problem("targetShape is \(target): expected 3 or 4 extents")
        }
        // 0 keeps an extent, whatever it is.
        if target.count == 3 { target = [value.shape[0] ?? 0] + target }
        guard try layer.parameters.integer(2) == 1 else {
            return [try back(try layer.graph.reshape(value, to: target))]
        }
        let last = try layer.graph.transpose(value, [0, 2, 3, 1])
        let reshaped = try layer.graph.reshape(last, to: [target[0], target[2], target[3], target[1]])
        return [try back(try layer.graph.transpose(reshaped, [0, 3, 1, 2]))]
    }

    /// The axes are Seq, C, H, W.
    private static func permute(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let axes = try layer.parameters.integers(1)
        if axes.isEmpty { return [try layer.input()] }
        let (value, back) = try layer.spatial()
        return [try back(try layer.graph.transpose(value, axes))]
    }

    private static func transpose(_ layer: Layer) throws(Problem) -> [Blob] {
        [Blob(try layer.graph.transpose(layer.array(), layer.parameters.integers(1)))]
    }

    private static func squeeze(_ layer: Layer) throws(Problem) -> [Blob] {
        let value = try layer.array()
        var axes = try layer.parameters.integers(1)
        if try layer.parameters.bool(2) { axes = value.shape.indices.filter { value.shape[$0] == 1 } }
        // There are no blobs without an axis.
        if !axes.isEmpty, axes.count == value.rank { axes.removeLast() }
        return [Blob(try layer.graph.squeeze(value, axes))]
    }

    private static func expandDims(_ layer: Layer) throws(Problem) -> [Blob] {
        let axes = try layer.parameters.integers(1)
        guard axes.count <= 8 else { throw Problem("\(axes.count) new axes") }
        return [Blob(try layer.graph.unsqueeze(layer.array(), axes))]
    }

    private static func flattenTo2D(_ layer: Layer) throws(Problem) -> [Blob] {
        let value = try layer.array()
        let given = try layer.parameters.integer(1)
        // Everything before the axis, and everything from it on; the axis may be the end.
        guard given >= -value.rank, given <= value.rank else {
            throw Problem("axis \(given) is out of range: the value has \(value.rank) axes")
        }
        let axis = given < 0 ? given + value.rank : given
        let (before, after) = (value.shape[..<axis].compactMap { $0 }, value.shape[axis...].compactMap { $0 })
        if before.count == axis, let rows = elementCount(before) {
            return [Blob(try layer.graph.reshape(value, to: [rows, -1]))]
        }
        guard after.count == value.rank - axis, let columns = elementCount(after) else {
            throw Problem("there are open extents on both sides of axis \(axis) of \(shapeText(value.shape))")
        }
        return [Blob(try layer.graph.reshape(value, to: [-1, columns]))]
    }

    private static func reshapeStatic(_ layer: Layer) throws(Problem) -> [Blob] {
        let target = try layer.parameters.integers(1)
        guard target.count <= 8, target.allSatisfy({ $0 <= Int(Int32.max) }) else {
            throw Problem("targetShape is \(target)")
        }
        return [Blob(try layer.graph.reshape(layer.array(), to: target))]
    }

    private static func reshapeLike(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let (value, model) = (try layer.array(0), try layer.array(1))
        if let known = model.staticShape { return [Blob(try layer.graph.reshape(value, to: known))] }
        return [Blob(layer.graph.reshape(value, toComputed: layer.graph.shape(of: model), shape: model.shape))]
    }

    private static func reshapeDynamic(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let value = try layer.array(0)
        let (target, rank) = try layer.targetShape(1)
        if let known = layer.graph.integers(of: target) {
            return [Blob(try layer.graph.reshape(value, to: known))]
        }
        let shape = [Int?](repeating: nil, count: rank)
        let reshaped = layer.graph.operation(
            "Reshape", 1, [value, layer.graph.convert(target, to: .i64)], ["special_zero": true], shape: shape)
        return [Blob(reshaped)]
    }

    private static func getShape(_ layer: Layer) throws(Problem) -> [Blob] {
        let value = try layer.array()
        return [Blob(layer.graph.convert(layer.graph.shape(of: value), to: .f32))]
    }
}

/// Layers that change axes but not elements: flatten, reshape…, permute, transpose, squeeze, expandDims, getShape.
enum ShapeLayers {
    static let table: [LayerTranslator] = [
        .ofImages(300, "reshape", reshape), .ofImages(301, "flatten", flatten),
        LayerTranslator(310, "permute") { (layer) throws(Problem) in
            // The axes are Seq, C, H, W.
            let axes = try layer.parameters.integers(1)
            if axes.isEmpty { return [try layer.input()] }
            let (value, back) = try layer.spatial()
            return [try back(try layer.graph.transpose(value, axes))]
        },
        .ofArrays(985, "transpose") { (layer, x) throws(Problem) in
            try layer.graph.transpose(x, layer.parameters.integers(1))
        },
        .ofArrays(1120, "squeeze") { (layer, x) throws(Problem) in
            var axes = try layer.parameters.integers(1)
            if try layer.parameters.bool(2) { axes = x.shape.indices.filter { x.shape[$0] == 1 } }
            return try layer.graph.squeeze(x, axes)
        },
        .ofArrays(1125, "expandDims") { (layer, x) throws(Problem) in
            let axes = try layer.parameters.integers(1)
            guard axes.count <= 8 else { throw Problem("\(axes.count) new axes") }
            return try layer.graph.unsqueeze(x, axes)
        },
        .ofArrays(1130, "flattenTo2D") { (layer, x) throws(Problem) in
            try layer.graph.matrix(of: x, from: layer.parameters.integer(1))
        },
        .ofArrays(1140, "reshapeStatic", reshapeStatic), .ofArrays(1150, "rankPreservingReshape", reshapeStatic),
        .ofArrays(1135, "reshapeLike", inputs: 2...2) { (layer, x) throws(Problem) in
            let model = try layer.array(1)
            if let known = model.staticShape { return try layer.graph.reshape(x, to: known) }
            return layer.graph.reshape(x, toComputed: layer.graph.shape(of: model), shape: model.shape)
        },
        .ofArrays(1145, "reshapeDynamic", inputs: 2...2) { (layer, x) throws(Problem) in
            let (target, shape) = try layer.targetShape(1)
            if let known = layer.graph.integers(of: target) { return try layer.graph.reshape(x, to: known) }
            return layer.graph.operation("Reshape", 1, [x, target], ["special_zero": true], shape: shape)
        },
        .ofArrays(1065, "getShape") { (layer, x) throws(Problem) in
            layer.graph.convert(layer.graph.shape(of: x), to: .f32)
        },
    ]

    /// With CHANNEL_LAST, the elements are in the order H, W, C.
    private static func flatten(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        var ordered = x
        if try layer.parameters.integer(1) == 1 { ordered = try layer.graph.transpose(x, [0, 2, 3, 1]) }
        let known = x.shape[1...].compactMap { $0 }
        guard known.count == 3 else { return try layer.graph.reshape(ordered, to: [0, -1, 1, 1]) }
        guard let count = elementCount(known) else { throw Problem("the input is too large") }
        return try layer.graph.reshape(ordered, to: [0, count, 1, 1])
    }

    /// Reshapes to [C, H, W] or [Seq, C, H, W]. With CHANNEL_LAST, input and target are in the order H, W, C.
    private static func reshape(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        var target = try layer.parameters.integers(1)
        guard target.count == 3 || target.count == 4, target.allSatisfy({ $0 >= -1 && $0 <= Int(Int32.max) }) else {
            throw Problem("targetShape is \(target): expected 3 or 4 extents")
        }
        // 0 keeps the extent, even if it is open.
        if target.count == 3 { target = [x.shape[0] ?? 0] + target }
        guard try layer.parameters.integer(2) == 1 else { return try layer.graph.reshape(x, to: target) }
        let last = try layer.graph.transpose(x, [0, 2, 3, 1])
        let reshaped = try layer.graph.reshape(last, to: [target[0], target[2], target[3], target[1]])
        return try layer.graph.transpose(reshaped, [0, 3, 1, 2])
    }

    private static func reshapeStatic(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let target = try layer.parameters.integers(1)
        guard target.count <= 8, target.allSatisfy({ $0 <= Int(Int32.max) }) else {
            throw Problem("targetShape is \(target)")
        }
        return try layer.graph.reshape(x, to: target)
    }
}

/// Layers about boxes in images: cropResize, NonMaximumSuppression.
enum BoxLayers {
    static let table = [
        LayerTranslator(212, "cropResize", cropResize),
        LayerTranslator(1400, "NonMaximumSuppression", nonMaximumSuppression),
    ]

    /// The images [1, batch, C, H, W] and the boxes [n, 1, 4 or 5, 1, 1], five with the image's number in front.
    private static func cropResize(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let (images, regions, graph) = (try layer.array(0), try layer.array(1), layer.graph)
        guard images.rank == 5, images.shape[0] ?? 1 == 1, regions.rank == 5,
            regions.shape[2] == 4 || regions.shape[2] == 5
        else {
            throw Problem(
                "an image \(shapeText(images.shape)) and boxes \(shapeText(regions.shape)): expected [1,batch,C,H,W] and "
                    + "[boxes,1,4 or 5,1,1]")
        }
        var boxes = try graph.squeeze(regions, [1, 3, 4])
        var numbers: Graph.Value?
        if regions.shape[2] == 5 {
            numbers = graph.convert(try graph.gather(boxes, graph.scalar(0), axis: 1), to: .i64)
            boxes = try graph.slice(boxes, axes: [1], starts: [1], ends: [5], steps: [1])
        }
        let sizes = try layer.sizes(1, "targetSize", default: [1, 1])
        var cropping = try BoxCropping(height: sizes[0], width: sizes[1], sampling: sampling(layer))
        let mode = try layer.parameters.message(4)?.integer(1) ?? 0
        guard let coordinates = BoxCropping.Coordinates(rawValue: mode) else {
            throw Problem("unknown box coordinates \(mode)")
        }
        cropping.coordinates = coordinates
        cropping.isNormalized = try layer.parameters.bool(2)
        let scale = try layer.parameters.float(5)
        cropping.scale = scale == 0 ? 1 : scale
        return [Blob(try graph.crops(of: graph.squeeze(images, [0]), boxes: boxes, images: numbers, cropping))]
    }

    private static func sampling(_ layer: Layer) throws(Problem) -> GridSampling {
        switch try layer.parameters.message(3)?.integer(1) ?? 0 {
        case 0: return .strict
        case 1: return .aligned
        case 2: return .asymmetric
        case 3: return .offset
        case let mode: throw Problem("unknown sampling mode \(mode)")
        }
    }

    /// The limits may be inputs: overlap, score, number.
    private static func nonMaximumSuppression(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...5)
        let graph = layer.graph
        func limit(_ index: Int, _ field: Int) throws(Problem) -> Graph.Value {
            guard index < layer.inputs.count else { return graph.float(try layer.parameters.float(field)) }
            return try graph.reshape(layer.array(index), to: [])
        }
        var most = try layer.parameters.integer(3)
        if layer.inputs.count > 4 {
            guard let known = graph.integers(of: try layer.array(4))?.first else {
                throw Problem("the number of boxes that are kept is known only at run time")
            }
            most = known
        }
        var suppression = try BoxSuppression(most: most, overlap: limit(2, 1), score: limit(3, 2))
        suppression.isPerClass = try layer.parameters.bool(4)
        return try graph.suppressed(boxes: layer.array(0), scores: layer.array(1), suppression).map {
            Blob(graph.convert($0, to: .f32))
        }
    }
}

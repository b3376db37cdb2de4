/// Layers on boxes in images: cropResize, NonMaximumSuppression.
enum BoxLayers {
    static let table: [LayerTranslator] = [
        .ofArrays(212, "cropResize", inputs: 2...2, cropResize),
        LayerTranslator(1400, "NonMaximumSuppression", nonMaximumSuppression),
    ]

    /// Crops images [1, batch, C, H, W] to boxes [n, 1, 4 or 5, 1, 1]; of five numbers, the first is the index of the
    /// image.
    private static func cropResize(_ layer: Layer, _ images: Graph.Value) throws(Problem) -> Graph.Value {
        let (regions, graph) = (try layer.array(1), layer.graph)
        guard images.rank == 5, images.shape[0] ?? 1 == 1 else {
            throw Problem(
                "an image \(shapeText(images.shape)) and boxes \(shapeText(regions.shape)): expected [1,batch,C,H,W]")
        }
        let (boxes, numbers) = try graph.boxes(of: regions)
        let sizes = try layer.sizes(1, "targetSize", default: [1, 1])
        var cropping = try BoxCropping(height: sizes[0], width: sizes[1], sampling: ResizeLayers.sampling(layer, 3))
        let mode = try layer.parameters.message(4)?.integer(1) ?? 0
        guard let coordinates = BoxCropping.Coordinates(rawValue: mode) else {
            throw Problem("unknown box coordinates \(mode)")
        }
        cropping.coordinates = coordinates
        cropping.isNormalized = try layer.parameters.bool(2)
        let scale = try layer.parameters.float(5)
        cropping.scale = scale == 0 ? 1 : scale
        return try graph.crops(of: graph.squeeze(images, [0]), boxes: boxes, images: numbers, cropping)
    }

    /// The limits (overlap, score, number of boxes) may be inputs.
    private static func nonMaximumSuppression(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...5)
        let graph = layer.graph
        func limit(_ index: Int, _ field: Int) throws(Problem) -> Graph.Value {
            guard index < layer.inputs.count else { return graph.float(try layer.parameters.float(field)) }
            return try graph.reshape(layer.array(index), to: [])
        }
        var maximum = try layer.parameters.integer(3)
        if layer.inputs.count > 4 {
            guard let known = graph.integers(of: try layer.array(4))?.first else {
                throw Problem("the number of boxes that are kept is known only at run time")
            }
            maximum = known
        }
        var suppression = try BoxSuppression(maximum: maximum, overlap: limit(2, 1), score: limit(3, 2))
        suppression.isPerClass = try layer.parameters.bool(4)
        return try graph.suppressed(boxes: layer.array(0), scores: layer.array(1), suppression).map {
            Blob(graph.convert($0, to: .f32))
        }
    }
}

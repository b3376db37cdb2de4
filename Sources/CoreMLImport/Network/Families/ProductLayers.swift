/// Matrix products and lookups: innerProduct, embedding, embeddingND, batchedMatmul, dot.
enum ProductLayers {
    static let table: [LayerTranslator] = [
        .ofElements(140, "innerProduct", innerProduct), .ofElements(150, "embedding", embedding),
        LayerTranslator.ofAlike(270, "dot", inputs: 2...2, dot).onChannels,
        .ofArrays(1040, "embeddingND", embeddingND), .ofArrays(1045, "batchedMatmul", inputs: 1...2, batchedMatmul),
    ]

    private static func innerProduct(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let (inputs, outputs) = (try layer.size(1, "inputChannels"), try layer.size(2, "outputChannels"))
        let graph = layer.graph
        let weights = try layer.constant(20, "weights", shape: [outputs, inputs], channels: outputs)
        var value = x
        // With four or five axes, the axes from the channels on are flattened.
        let isImage = value.rank >= 4
        if isImage {
            // 0 keeps the extent, even if it is open.
            value = try graph.reshape(value, to: value.shape.dropLast(3).map { _ in 0 } + [inputs])
        } else if let extent = value.shape.last ?? nil, extent != inputs {
            throw Problem("the input \(shapeText(value.shape)) should end with \(inputs)")
        }
        value = try graph.matmul(value, weights, transposesRight: true)
        if try layer.parameters.bool(10) {
            value = try graph.add(value, layer.constant(21, "bias", shape: [outputs], channels: outputs))
        }
        return isImage ? try graph.unsqueeze(value, [-2, -1]) : value
    }

    /// Looks up rows of a matrix [dimension, size], which the file stores transposed.
    private static func lookup(
        _ layer: Layer, _ indices: Graph.Value, dimension: Int, size: Int, bias hasBias: Bool
    ) throws(Problem) -> Graph.Value {
        let graph = layer.graph
        let stored = try layer.constant(20, "weights", shape: [size, dimension], channels: size)
        let rows = try graph.transpose(stored, [1, 0])
        var value = try graph.gather(rows, graph.convert(indices, to: .i64), axis: 0)
        if hasBias { value = try graph.add(value, layer.constant(21, "bias", shape: [size], channels: size)) }
        return value
    }

    private static func embedding(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        guard x.rank >= 4, x.shape.suffix(3).allSatisfy({ $0 == 1 }) else {
            throw Problem(
                "the input \(shapeText(try layer.input().shape)) should be a sequence of single numbers, [Seq, …, 1, 1, 1]"
            )
        }
        let value = try lookup(
            layer, layer.graph.squeeze(x, [-3, -2, -1]), dimension: layer.size(1, "inputDim"),
            size: layer.size(2, "outputChannels"), bias: layer.parameters.bool(10))
        return try layer.graph.unsqueeze(value, [-2, -1])
    }

    private static func embeddingND(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        guard x.rank >= 2, x.shape.last == 1 else {
            throw Problem("the input \(shapeText(x.shape)) should end with 1")
        }
        return try lookup(
            layer, layer.graph.squeeze(x, [-1]), dimension: layer.size(1, "vocabSize"),
            size: layer.size(2, "embeddingSize"), bias: layer.parameters.bool(3))
    }

    private static func batchedMatmul(_ layer: Layer, _ x: Graph.Value) throws(Problem) -> Graph.Value {
        let graph = layer.graph
        if layer.inputs.count == 2 {
            let product = try graph.matmul(
                x, layer.array(1), transposesLeft: layer.parameters.bool(1), transposesRight: layer.parameters.bool(2))
            // The product of two vectors is [1, 1]: the rank is at least 2.
            return try graph.unsqueeze(product, Array(0..<max(0, 2 - product.rank)))
        }
        let (rows, columns) = (
            try layer.size(5, "weightMatrixFirstDimension"), try layer.size(6, "weightMatrixSecondDimension")
        )
        // The file stores the matrix in column-major order, which is its transpose in row-major order.
        let weights = try layer.constant(8, "weights", shape: [columns, rows], channels: columns)
        let product = try graph.matmul(x, weights, transposesRight: true)
        guard try layer.parameters.bool(7) else { return product }
        return try graph.add(product, layer.constant(9, "bias", shape: [columns], channels: columns))
    }

    private static func dot(_ layer: Layer, _ values: [Graph.Value]) throws(Problem) -> Graph.Value {
        let graph = layer.graph
        func sum(_ left: Graph.Value, _ right: Graph.Value) throws(Problem) -> Graph.Value {
            try graph.reduce("ReduceSum", graph.multiply(left, right), axes: [-3], keepsAxes: true)
        }
        let product = try sum(values[0], values[1])
        guard try layer.parameters.bool(1) else { return product }
        let lengths = try graph.multiply(sum(values[0], values[0]), sum(values[1], values[1]))
        return try graph.divide(product, graph.unary("Sqrt", lengths))
    }
}

/// Matrix products and lookups: innerProduct, embedding, embeddingND, batchedMatmul, dot.
enum ProductLayers {
    static let table = [
        LayerTranslator(140, "innerProduct", innerProduct), LayerTranslator(150, "embedding", embedding),
        .onChannels(270, "dot", dot), LayerTranslator(1040, "embeddingND", embeddingND),
        LayerTranslator(1045, "batchedMatmul", batchedMatmul),
    ]

    private static func innerProduct(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (inputs, outputs) = (try layer.size(1, "inputChannels"), try layer.size(2, "outputChannels"))
        let (blob, graph) = (try layer.input(), layer.graph)
        let weights = try layer.constant(20, "weights", shape: [outputs, inputs], channels: outputs)
        var value = blob.value
        // Four and five axes are flattened from the channels on.
        let isImage = value.rank >= 4
        if isImage {
            // 0 keeps an extent, whatever it is.
            value = try graph.reshape(value, to: value.shape.dropLast(3).map { _ in 0 } + [inputs])
        } else if let extent = value.shape.last ?? nil, extent != inputs {
            throw Problem("the input \(shapeText(value.shape)) should end with \(inputs)")
        }
        value = try graph.matmul(value, weights, transposesRight: true)
        if try layer.parameters.bool(10) {
            value = try graph.add(value, layer.constant(21, "bias", shape: [outputs], channels: outputs))
        }
        if isImage { value = try graph.unsqueeze(value, [-2, -1]) }
        return [Blob(value, isFolded: blob.isFolded)]
    }

    /// A matrix [dimension, size] of the lookup, from weights that are stored the other way round.
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

    private static func embedding(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let blob = try layer.input()
        guard blob.value.rank >= 4, blob.value.shape.suffix(3).allSatisfy({ $0 == 1 }) else {
            throw Problem(
                "the input \(shapeText(blob.shape)) should be a sequence of single numbers, [Seq, …, 1, 1, 1]")
        }
        let indices = try layer.graph.squeeze(blob.value, [-3, -2, -1])
        let value = try lookup(
            layer, indices, dimension: layer.size(1, "inputDim"), size: layer.size(2, "outputChannels"),
            bias: layer.parameters.bool(10))
        return [Blob(try layer.graph.unsqueeze(value, [-2, -1]), isFolded: blob.isFolded)]
    }

    private static func embeddingND(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let value = try layer.array()
        guard value.rank >= 2, value.shape.last == 1 else {
            throw Problem("the input \(shapeText(value.shape)) should end with 1")
        }
        return [
            Blob(
                try lookup(
                    layer, layer.graph.squeeze(value, [-1]), dimension: layer.size(1, "vocabSize"),
                    size: layer.size(2, "embeddingSize"), bias: layer.parameters.bool(3)))
        ]
    }

    private static func batchedMatmul(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (value, graph) = (try layer.array(), layer.graph)
        if layer.inputs.count == 2 {
            let product = try graph.matmul(
                value, layer.array(1), transposesLeft: layer.parameters.bool(1),
                transposesRight: layer.parameters.bool(2))
            // A product of two lists is [1, 1]: the rank is at least 2.
            let missing = max(0, 2 - product.rank)
            return [Blob(try graph.unsqueeze(product, Array(0..<missing)))]
        }
        let (rows, columns) = (
            try layer.size(5, "weightMatrixFirstDimension"), try layer.size(6, "weightMatrixSecondDimension")
        )
        // The matrix is stored column by column: row by row, it is its transpose.
        let weights = try layer.constant(8, "weights", shape: [columns, rows], channels: columns)
        var product = try graph.matmul(value, weights, transposesRight: true)
        if try layer.parameters.bool(7) {
            product = try graph.add(product, layer.constant(9, "bias", shape: [columns], channels: columns))
        }
        return [Blob(product)]
    }

    private static func dot(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(2...2)
        let (values, folded) = try layer.alike()
        let graph = layer.graph
        func sum(_ left: Graph.Value, _ right: Graph.Value) throws(Problem) -> Graph.Value {
            try graph.reduce("ReduceSum", graph.multiply(left, right), axes: [-3], keepsAxes: true)
        }
        var product = try sum(values[0], values[1])
        if try layer.parameters.bool(1) {
            let lengths = try graph.multiply(sum(values[0], values[0]), sum(values[1], values[1]))
            product = try graph.divide(product, graph.unary("Sqrt", lengths))
        }
        return [Blob(product, isFolded: folded)]
    }
}

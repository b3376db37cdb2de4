/// upsample and resizeBilinear.
enum ResizeLayers {
    static let table = [
        LayerTranslator(210, "upsample", upsample), LayerTranslator(211, "resizeBilinear", resizeBilinear),
    ]

    private static func upsample(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        var factors = try layer.parameters.floats(7)
        if factors.isEmpty {
            factors = try layer.sizes(1, "scalingFactor", default: [1, 1]).map { Float($0) }
        }
        guard factors.count == 2, factors.allSatisfy({ $0 > 0 && $0 <= 65536 }) else {
            throw Problem("fractionalScalingFactor is \(factors): expected two positive numbers")
        }
        let sampling: GraphBuilder.Sampling
        switch (try layer.parameters.integer(5), try layer.parameters.integer(6)) {
        case (0, _), (1, 0): sampling = .asymmetric
        case (1, 1): sampling = .alignCorners
        case (1, 2): sampling = .halfPixel
        case (let mode, let linear): throw Problem("unknown interpolation \(mode), \(linear)")
        }
        let linear = try layer.parameters.integer(5) == 1
        guard let height = value.shape[2], let width = value.shape[3] else {
            return [try back(layer.graph.resize(value, factors: factors, linear: linear, sampling: sampling))]
        }
        let target = zip([height, width], factors).map { Int((Double($0) * Double($1)).rounded(.down)) }
        return [
            try back(
                try layer.graph.resize(value, height: target[0], width: target[1], linear: linear, sampling: sampling))
        ]
    }

    /// Two products with matrices of interpolation weights: exact for each of the four modes.
    private static func resizeBilinear(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        let target = try layer.sizes(1, "targetSize", default: [1, 1])
        let mode = try layer.parameters.message(2)?.integer(1) ?? 0
        if value.shape[2] == nil || value.shape[3] == nil {
            return [try back(openBilinear(layer, value, to: target, mode: mode))]
        }
        guard let height = value.shape[2], let width = value.shape[3], target.allSatisfy({ $0 <= 1 << 14 }),
            max(height, width) <= 1 << 14, (0...3).contains(mode)
        else { throw Problem("mode \(mode), from \(shapeText(value.shape)) to \(target)") }
        // The matrices are written out: 16 MB each at most.
        guard height * target[0] <= 1 << 22, width * target[1] <= 1 << 22 else {
            throw Problem("resizing \(shapeText(value.shape)) to \(target) takes too large a matrix")
        }
        let graph = layer.graph
        let rows = try graph.floats(
            weights(from: height, to: target[0], mode: mode), shape: [target[0], height])
        let columns = try graph.floats(
            weights(from: width, to: target[1], mode: mode), shape: [target[1], width])
        let result = try graph.matmul(graph.matmul(rows, value), columns, transposesRight: true)
        return [try back(result)]
    }

    /// Resizes from an open size, in the modes that the engine has itself. Throws for the others.
    private static func openBilinear(
        _ layer: Layer, _ value: Graph.Value, to target: [Int], mode: Int
    ) throws(Problem) -> Graph.Value {
        let sampling: GraphBuilder.Sampling
        switch mode {
        case 0: sampling = .alignCorners
        case 1 where !target.contains(1): sampling = .alignCorners
        case 2: sampling = .asymmetric
        default: throw Problem("mode \(mode), from \(shapeText(value.shape)) to \(target)")
        }
        return try layer.graph.resize(value, height: target[0], width: target[1], linear: true, sampling: sampling)
    }

    /// The share of each of `extent` elements in each of `count` samples (SamplingMode).
    static func weights(from extent: Int, to count: Int, mode: Int) -> [Float] {
        let last = Double(extent - 1)
        var matrix = [Float](repeating: 0, count: extent * count)
        for index in 0..<count {
            let position: Double
            switch mode {
            // STRICT_ALIGN_ENDPOINTS: both ends; the first element where there is one sample.
            case 0: position = count == 1 ? 0 : Double(index) * last / Double(count - 1)
            // ALIGN_ENDPOINTS: both ends; the middle where there is one sample.
            case 1: position = count == 1 ? last / 2 : Double(index) * last / Double(count - 1)
            // UPSAMPLE: multiples of extent / count.
            case 2: position = Double(index) * Double(extent) / Double(count)
            // ROI_ALIGN: the middles of `count` equal parts of 0...extent - 1.
            default: position = (Double(index) + 0.5) * last / Double(count)
            }
            let inside = min(max(position, 0), last)
            let first = Int(inside)
            let second = min(first + 1, extent - 1)
            let share = Float(inside - Double(first))
            matrix[index * extent + first] += 1 - share
            matrix[index * extent + second] += share
        }
        return matrix
    }
}

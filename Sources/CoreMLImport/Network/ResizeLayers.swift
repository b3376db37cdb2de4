/// upsample and resizeBilinear.
enum ResizeLayers {
    static let table = [
        LayerTranslator(210, "upsample", upsample), LayerTranslator(211, "resizeBilinear", resizeBilinear),
    ]

    private static func upsample(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...1)
        let (value, back) = try layer.spatial()
        guard let height = value.shape[2], let width = value.shape[3] else {
            throw Problem("the input \(shapeText(value.shape)) has open extents")
        }
        var target = [height, width]
        let fractions = try layer.parameters.floats(7)
        if fractions.isEmpty {
            let factors = try layer.sizes(1, "scalingFactor", default: [1, 1])
            target = [height * factors[0], width * factors[1]]
        } else {
            guard fractions.count == 2, fractions.allSatisfy({ $0 > 0 && $0 <= 65536 }) else {
                throw Problem("fractionalScalingFactor is \(fractions); two positive numbers are expected")
            }
            target = [
                Int((Float(height) * fractions[0]).rounded(.down)), Int((Float(width) * fractions[1]).rounded(.down)),
            ]
        }
        let sampling: GraphBuilder.Sampling
        switch (try layer.parameters.integer(5), try layer.parameters.integer(6)) {
        case (0, _), (1, 0): sampling = .asymmetric
        case (1, 1): sampling = .alignCorners
        case (1, 2): sampling = .halfPixel
        case (let mode, let linear): throw Problem("the interpolation \(mode), \(linear) is not known")
        }
        let linear = try layer.parameters.integer(5) == 1
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

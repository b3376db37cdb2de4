/// Normalization by mean and variance, by vector length, and by neighboring channels.
extension ProgramOperations {
    static let normalizations: [String: Translator] = [
        "batch_norm": batchNorm,
        "instance_norm": { call throws(Problem) in
            let x = try call.float("x")
            guard x.rank >= 3 else { throw Problem("unsupported shape \(shapeText(x.shape))", at: "x") }
            return [
                try scaledAndShifted(call, standardized(call, x, axes: Array(2..<x.rank))) {
                    (numbers) throws(Problem) in try alongChannels(call, numbers, of: x)
                }
            ]
        },
        "layer_norm": { call throws(Problem) in
            let x = try call.float("x")
            var places: Set<Int> = []
            for axis in try call.integers("axes") ?? Array(0..<x.rank) {
                places.insert(try positiveAxis(axis, rank: x.rank))
            }
            return [
                try scaledAndShifted(call, standardized(call, x, axes: places.sorted())) { (numbers) throws(Problem) in
                    // Gamma and beta have only the normalized axes.
                    guard let extents = numbers.staticShape, extents.count == places.count else {
                        throw Problem("shape \(shapeText(numbers.shape)) does not match \(places.count) axes")
                    }
                    var rest = extents[...]
                    return try call.graph.reshape(
                        numbers, to: (0..<x.rank).map { places.contains($0) ? rest.popFirst() ?? 1 : 1 })
                }
            ]
        },
        "l2_norm": { call throws(Problem) in
            [try call.graph.lengthNormalized(call.float("x"), epsilon: call.number("epsilon", default: 1e-6))]
        },
        "local_response_norm": { call throws(Problem) in
            [
                call.graph.responseNormalized(
                    try call.float("x"), size: try call.integer("size"), alpha: try call.number("alpha", default: 1e-4),
                    beta: try call.number("beta", default: 0.75), bias: try call.number("k", default: 1))
            ]
        },
    ]

    private static func standardized(_ call: ProgramCall, _ x: Graph.Value, axes: [Int]) throws(Problem) -> Graph.Value
    {
        try call.graph.standardized(x, axes: axes, epsilon: call.number("epsilon", default: 1e-5))
    }

    /// Multiplies by "gamma" and adds "beta", if they are given.
    private static func scaledAndShifted(
        _ call: ProgramCall, _ x: Graph.Value, spread: (Graph.Value) throws(Problem) -> Graph.Value
    ) throws(Problem) -> Graph.Value {
        func numbers(_ name: String) throws(Problem) -> Graph.Value {
            let value = try call.float(name)
            return try located(name) { () throws(Problem) in try spread(value) }
        }
        let scaled = try call.isGiven("gamma") ? call.graph.multiply(x, numbers("gamma")) : x
        return try call.isGiven("beta") ? call.graph.add(scaled, numbers("beta")) : scaled
    }

    private static func batchNorm(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let x = try call.float("x")
        guard let means = try call.floats("mean"), let variances = try call.floats("variance") else {
            throw Problem("the arguments \"mean\" and \"variance\" are missing")
        }
        return [
            try call.graph.batchNormalized(
                x, means: means, variances: variances, gammas: call.floats("gamma") ?? means.map { _ in 1 },
                betas: call.floats("beta") ?? means.map { _ in 0 }, epsilon: call.number("epsilon", default: 1e-5),
                shape: channelShape(of: x, count: means.count))
        ]
    }
}

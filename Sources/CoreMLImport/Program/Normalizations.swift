/// Normalization by mean and variance, by length, and by neighbours.
extension ProgramOperations {
    static let normalizations: [String: Translator] = [
        "batch_norm": batchNorm,
        "instance_norm": { call throws(Problem) in
            let x = try call.float("x")
            guard x.rank >= 3 else { throw Problem("unsupported shape \(shapeText(x.shape))", at: "x") }
            var result = try standardized(call, x, axes: Array(2..<x.rank))
            if call.isGiven("gamma") {
                result = try call.graph.multiply(result, alongChannels(call, call.float("gamma"), of: x))
            }
            if call.isGiven("beta") {
                result = try call.graph.add(result, alongChannels(call, call.float("beta"), of: x))
            }
            return [result]
        },
        "layer_norm": { call throws(Problem) in
            let x = try call.float("x")
            var places: Set<Int> = []
            for axis in try call.integers("axes") ?? Array(0..<x.rank) {
                places.insert(try positiveAxis(axis, rank: x.rank))
            }
            var result = try standardized(call, x, axes: places.sorted())
            // Gamma and beta have the normalized axes only.
            func spread(_ name: String) throws(Problem) -> Graph.Value {
                let value = try call.float(name)
                guard let extents = value.staticShape, extents.count == places.count else {
                    throw Problem("shape \(shapeText(value.shape)) does not match \(places.count) axes", at: name)
                }
                var rest = extents[...]
                return try call.graph.reshape(
                    value, to: (0..<x.rank).map { places.contains($0) ? rest.popFirst() ?? 1 : 1 })
            }
            if call.isGiven("gamma") { result = try call.graph.multiply(result, spread("gamma")) }
            if call.isGiven("beta") { result = try call.graph.add(result, spread("beta")) }
            return [result]
        },
        "l2_norm": { call throws(Problem) in
            let (x, graph) = (try call.float("x"), call.graph)
            guard x.rank >= 3 else { throw Problem("unsupported shape \(shapeText(x.shape))", at: "x") }
            let sum = try graph.reduce("ReduceSum", graph.multiply(x, x), axes: [-3, -2, -1], keepsAxes: true)
            let length = graph.unary("Sqrt", try graph.shifted(sum, by: call.number("epsilon", default: 1e-6)))
            return [try graph.divide(x, length)]
        },
        "local_response_norm": { call throws(Problem) in
            let x = try call.float("x")
            return [
                call.graph.operation(
                    "LRN", 1, [x, call.graph.integers([1])],
                    [
                        "alpha": .float(try call.number("alpha", default: 1e-4)),
                        "beta": .float(try call.number("beta", default: 0.75)),
                        "bias": .float(try call.number("k", default: 1)), "size": .integer(try call.integer("size")),
                    ], shape: x.shape)
            ]
        },
    ]

    /// (x − mean) / √(variance + ε) along axes.
    private static func standardized(_ call: ProgramCall, _ x: Graph.Value, axes: [Int]) throws(Problem) -> Graph.Value
    {
        call.graph.operation(
            "MVN", 6, [x, call.graph.integers(axes)],
            [
                "normalize_variance": true, "eps": .float(try call.number("epsilon", default: 1e-5)),
                "eps_mode": "inside_sqrt",
            ], shape: x.shape)
    }

    /// The four lists of numbers make up a factor and a summand a channel.
    private static func batchNorm(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (x, graph) = (try call.float("x"), call.graph)
        guard let means = try call.floats("mean"), let variances = try call.floats("variance") else {
            throw Problem("the arguments \"mean\" and \"variance\" are missing")
        }
        let epsilon = try call.number("epsilon", default: 1e-5)
        let gammas = try call.floats("gamma") ?? means.map { _ in 1 }
        let betas = try call.floats("beta") ?? means.map { _ in 0 }
        guard [variances.count, gammas.count, betas.count].allSatisfy({ $0 == means.count }) else {
            throw Problem(
                "\(means.count) means, \(variances.count) variances, \(gammas.count) gammas and \(betas.count) betas")
        }
        let factors = zip(gammas, variances).map { $0 / ($1 + epsilon).squareRoot() }
        let summands = zip(betas, zip(means, factors)).map { $0 - $1.0 * $1.1 }
        guard (factors + summands).allSatisfy(\.isFinite) else {
            throw Problem("expected variances of 0 or more", at: "variance")
        }
        let scaled = try graph.multiply(x, alongChannels(call, graph.floats(factors), of: x))
        return [try graph.add(scaled, alongChannels(call, graph.floats(summands), of: x))]
    }
}

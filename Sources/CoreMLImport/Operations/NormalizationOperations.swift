/// Normalization by mean and variance, by vector length, and by neighboring channels.
extension GraphBuilder {
    /// (x − mean) / √(variance + epsilon) over axes.
    func standardized(_ x: Graph.Value, axes: [Int], epsilon: Float) throws(Problem) -> Graph.Value {
        var places: Set<Int> = []
        for axis in axes { places.insert(try positiveAxis(axis, rank: x.rank)) }
        return operation(
            "MVN", 6, [x, integers(places.sorted())],
            ["normalize_variance": true, "eps": .float(epsilon), "eps_mode": "inside_sqrt"], shape: x.shape)
    }

    /// Normalizes by known means and variances, one for each channel, then multiplies by `gammas` and adds `betas`:
    /// folded to one factor and one summand for each channel.
    /// - Parameter shape: the shape of the parameters that broadcasts over `x`.
    func batchNormalized(
        _ x: Graph.Value, means: [Float], variances: [Float], gammas: [Float], betas: [Float], epsilon: Float,
        shape: [Int]
    ) throws(Problem) -> Graph.Value {
        guard [variances.count, gammas.count, betas.count].allSatisfy({ $0 == means.count }) else {
            throw Problem(
                "\(means.count) means, \(variances.count) variances, \(gammas.count) gammas and \(betas.count) betas")
        }
        let factors = zip(gammas, variances).map { $0 / ($1 + epsilon).squareRoot() }
        let summands = zip(betas, zip(means, factors)).map { $0 - $1.0 * $1.1 }
        guard (factors + summands).allSatisfy(\.isFinite) else {
            throw Problem("expected variances of 0 or more", at: "variance")
        }
        return try add(multiply(x, floats(factors, shape: shape)), floats(summands, shape: shape))
    }

    /// Divides by the Euclidean length over the last three axes: all channels, rows and columns.
    func lengthNormalized(_ x: Graph.Value, epsilon: Float) throws(Problem) -> Graph.Value {
        guard x.rank >= 3 else { throw Problem("\(shapeText(x.shape)) has fewer than 3 axes") }
        let squares = try reduce(x, by: .sumOfSquares, axes: [-3, -2, -1], keepsAxes: true)
        return try divide(x, unary("Sqrt", shifted(squares, by: epsilon)))
    }

    /// Local response normalization over `size` neighboring channels (axis 1).
    func responseNormalized(_ x: Graph.Value, size: Int, alpha: Float, beta: Float, bias: Float) -> Graph.Value {
        operation(
            "LRN", 1, [x, integers([1])],
            ["alpha": .float(alpha), "beta": .float(beta), "bias": .float(bias), "size": .integer(size)],
            shape: x.shape)
    }
}

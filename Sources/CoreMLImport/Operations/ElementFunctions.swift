/// Element-wise functions that the engine lacks, or has with other parameters.
extension GraphBuilder {
    /// Rounds to integers, halves to even.
    func rounded(_ x: Graph.Value) -> Graph.Value { unary("Round", 5, x, ["mode": "half_to_even"]) }

    func inverse(_ x: Graph.Value) throws(Problem) -> Graph.Value { try divide(float(1), x) }

    /// True for each element that is not 0.
    func truth(_ x: Graph.Value) throws(Problem) -> Graph.Value {
        x.type == .boolean ? x : try binary("NotEqual", x, convert(float(0), to: x.type))
    }

    /// x if it is 0 or more, else x · slope. `slope` has one number, or one for each channel (axis 1).
    func leakyReLU(_ x: Graph.Value, slope: Graph.Value) -> Graph.Value {
        operation("PReLU", 1, [x, slope], shape: x.shape)
    }

    /// The leaky ReLU, at most `limit`.
    func clampedReLU(_ x: Graph.Value, slope: Float, limit: Float) throws(Problem) -> Graph.Value {
        try binary("Minimum", leakyReLU(x, slope: floats([slope])), float(limit))
    }

    /// x if it is `threshold` or more, else 0.
    func thresholdedReLU(_ x: Graph.Value, threshold: Float) throws(Problem) -> Graph.Value {
        try select(binary("GreaterEqual", x, float(threshold)), x, float(0))
    }

    func scaledTanh(_ x: Graph.Value, alpha: Float, beta: Float) throws(Problem) -> Graph.Value {
        try scaled(unary("Tanh", scaled(x, by: beta)), by: alpha)
    }

    func hardSigmoid(_ x: Graph.Value, alpha: Float, beta: Float) -> Graph.Value {
        operation("HardSigmoid", 1, [x, float(alpha), float(beta)], shape: x.shape)
    }

    /// alpha · log(1 + exp(beta · x)). Parameters by channel have the axes of `x`.
    func softplus(_ x: Graph.Value, alpha: Graph.Value, beta: Graph.Value) throws(Problem) -> Graph.Value {
        try multiply(unary("SoftPlus", 4, multiply(x, beta)), alpha)
    }

    /// The three definitions of gelu.
    enum Gelu: Int {
        case exact, tanh, sigmoid
    }

    func gelu(_ x: Graph.Value, _ way: Gelu) throws(Problem) -> Graph.Value {
        switch way {
        case .exact: unary("Gelu", 7, x, ["approximation_mode": "ERF"])
        case .tanh: unary("Gelu", 7, x, ["approximation_mode": "TANH"])
        case .sigmoid: try multiply(x, unary("Sigmoid", scaled(x, by: 1.702)))
        }
    }
}

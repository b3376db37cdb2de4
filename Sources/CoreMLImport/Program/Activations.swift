/// Activation functions.
///
/// Omitted parameters have the defaults of coremltools 5.0 (converters/mil/mil/ops/defs/activation.py,
/// `default_inputs`); later versions always write them (ops/defs/iOS15/activation.py: required).
extension ProgramOperations {
    static let activations: [String: Translator] = [
        "relu": unary("ReLU"),
        "relu6": { call throws(Problem) in [try call.graph.clamp(call.float("x"), from: 0, to: 6)] },
        "sigmoid": unary("Sigmoid"),
        "tanh": unary("Tanh"),
        "silu": unary("Swish", 4),
        "softplus": unary("SoftPlus", 4),
        "softsign": unary("SoftSign", 9),
        "elu": { call throws(Problem) in
            [call.graph.unary("Elu", try call.float("x"), ["alpha": .float(try call.number("alpha", default: 1))])]
        },
        "leaky_relu": { call throws(Problem) in
            let slope = call.graph.float(try call.number("alpha", default: 0.01))
            return [call.graph.leakyReLU(try call.float("x"), slope: slope)]
        },
        "prelu": { call throws(Problem) in
            let (x, slope) = (try call.float("x"), try call.float("alpha"))
            return [call.graph.leakyReLU(x, slope: try slope.rank == 1 ? alongChannels(call, slope, of: x) : slope)]
        },
        "linear_activation": { call throws(Problem) in
            let scaled = try call.graph.scaled(call.float("x"), by: call.number("alpha"))
            return [try call.graph.shifted(scaled, by: call.number("beta", default: 0))]
        },
        "scaled_tanh": { call throws(Problem) in
            [
                try call.graph.scaledTanh(
                    call.float("x"), alpha: call.number("alpha", default: 1), beta: call.number("beta", default: 1))
            ]
        },
        "sigmoid_hard": { call throws(Problem) in
            let (alpha, beta) = (try call.number("alpha", default: 0.2), try call.number("beta", default: 0.5))
            return [call.graph.hardSigmoid(try call.float("x"), alpha: alpha, beta: beta)]
        },
        "thresholded_relu": { call throws(Problem) in
            [try call.graph.thresholdedReLU(call.float("x"), threshold: call.number("alpha", default: 1))]
        },
        "clamped_relu": { call throws(Problem) in
            [try call.graph.clampedReLU(call.float("x"), slope: call.number("alpha"), limit: limit(call, "beta"))]
        },
        "softplus_parametric": { call throws(Problem) in
            let x = try call.float("x")
            return [
                try call.graph.softplus(
                    x, alpha: alongChannels(call, call.float("alpha"), of: x),
                    beta: alongChannels(call, call.float("beta"), of: x))
            ]
        },
        "gelu": { call throws(Problem) in
            let way: GraphBuilder.Gelu = try call.choice(
                "mode", default: "EXACT",
                of: ["EXACT": .exact, "TANH_APPROXIMATION": .tanh, "SIGMOID_APPROXIMATION": .sigmoid])
            return [try call.graph.gelu(call.float("x"), way)]
        },
        "softmax": { call throws(Problem) in
            [try call.graph.softmax(call.float("x"), axis: call.integer("axis", default: -1))]
        },
    ]

    /// An operation on floats that OpenVINO has.
    static func unary(_ type: String, _ opset: Int = 1) -> Translator {
        { call throws(Problem) in [call.graph.unary(type, opset, try call.float("x"))] }
    }

    /// A list of one number for each channel, as [1, C, 1, …].
    static func alongChannels(_ call: ProgramCall, _ list: Graph.Value, of x: Graph.Value) throws(Problem)
        -> Graph.Value
    {
        try call.graph.reshape(list, to: channelShape(of: x, count: list.staticShape.flatMap(elementCount)))
    }

    static func channelShape(of x: Graph.Value, count: Int?) throws(Problem) -> [Int] {
        guard x.rank >= 2, let count else {
            throw Problem("one number per channel does not match a value of shape \(shapeText(x.shape))")
        }
        return [1, count] + x.shape.dropFirst(2).map { _ in 1 }
    }

    /// A constant limit; may be infinite.
    static func limit(_ call: ProgramCall, _ name: String) throws(Problem) -> Float {
        guard let value = try call.floats(name)?.first else { throw call.missing(name) }
        guard !value.isNaN else { throw Problem("expected a number, found \(value)", at: name) }
        let largest = Float.greatestFiniteMagnitude
        return min(max(value, -largest), largest)
    }

}

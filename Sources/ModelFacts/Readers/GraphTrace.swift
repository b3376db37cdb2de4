/// The nodes of a graph by their output tensors, to find the last operation of an output. ONNX, OpenVINO, TensorFlow
/// and TensorFlow Lite have their own names for the same operators.
struct GraphTrace {
    struct Node {
        var operation = ""
        /// The input tensors, in order.
        var inputs: [String] = []
    }

    var makers: [String: Node] = [:]
    /// True if the nodes are only a part of a graph: a tensor without a maker may then have any values.
    var isOpen = false

    /// Operators that change the form of values, not the values.
    private static let transparent: Set<String> = [
        "Identity", "Cast", "CastLike", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "DequantizeLinear",
        "QuantizeLinear", "Dropout", "Convert", "ConvertLike", "Result", "FakeQuantize", "ExpandDims", "StopGradient",
        "Snapshot", "FakeQuantWithMinMaxVars", "PlaceholderWithDefault", "EnsureShape", "CheckNumerics",
    ]

    /// Operators with unbounded results: scores.
    private static let layers: Set<String> = [
        "MatMul", "Gemm", "FullyConnected", "Conv", "Conv2D", "Convolution", "GroupConvolution", "ConvTranspose",
        "ConvolutionBackpropData", "DepthwiseConv2dNative", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum",
        "BiasAdd", "_FusedMatMul", "_FusedConv2D", "FusedMatMul", "FusedGemm", "QLinearConv", "QLinearMatMul", "QGemm",
        "ConvInteger", "MatMulInteger", "BatchNormalization", "BatchNormInference", "FusedBatchNorm",
        "FusedBatchNormV3", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "MVN",
        // The logarithms of probabilities: softmax gives the probabilities again.
        "LogSoftmax",
    ]

    /// Operators that move, scale and add values: their results are scores if their inputs are.
    private static let linear: Set<String> = [
        "Add", "AddV2", "AddN", "Sum", "Sub", "Subtract", "Mul", "Multiply", "Div", "Divide", "RealDiv", "Neg",
        "Negative", "Transpose", "Slice", "StridedSlice", "Gather", "GatherV2", "Split", "SplitV", "VariadicSplit",
        "Pad", "PadV2", "Tile", "Expand", "Broadcast", "BroadcastTo", "Pack", "Stack", "Unpack",
        "ReduceMean", "Mean", "ReduceSum", "ReduceMax", "Max", "ReduceLogSumExp", "GlobalAveragePool",
        "GlobalMaxPool", "AveragePool", "AvgPool", "MaxPool", "AdaptiveAvgPool", "Relu", "Relu6", "ReLU", "LeakyRelu",
        "PRelu", "PReLU",
    ]

    /// Operators without inputs from the graph.
    private static let sources: Set<String> = [
        "Const", "Constant", "Parameter", "Placeholder", "ReadVariableOp", "VarHandleOp", "VariableV2", "Shape",
        "ShapeOf",
    ]

    private static let maximum = 64, maximumVisited = 512

    /// The node that makes a tensor, skipping operators that leave values unchanged.
    func maker(of tensor: String) -> Node? {
        makers[beforeTransparent(tensor)].flatMap { Self.transparent.contains($0.operation) ? nil : $0 }
    }

    /// The tensor before operators that leave values unchanged.
    func beforeTransparent(_ tensor: String) -> String {
        var wanted = tensor
        for _ in 0..<Self.maximum {
            guard let node = makers[wanted], Self.transparent.contains(node.operation), let first = node.inputs.first
            else { break }
            wanted = first
        }
        return wanted
    }

    /// True if the maker of a tensor takes only the graph's inputs and constants.
    func takesSourcesOnly(_ tensor: String) -> Bool {
        (makers[tensor]?.inputs ?? []).allSatisfy { input in
            makers[beforeTransparent(input)].map { Self.sources.contains($0.operation) } ?? !isOpen
        }
    }

    /// The ending of an output; nil if it is unknown.
    func ending(of tensor: String) -> GraphEnding? {
        guard let last = maker(of: tensor) else { return nil }
        switch last.operation {
        case "Softmax", "SoftMax": return .softmax
        case "Sigmoid": return .sigmoid
        case "Exp" where last.inputs.first.flatMap(maker)?.operation == "LogSoftmax": return .softmax
        case "Div", "Divide", "RealDiv":
            // Softmax in parts: the exponentials, divided by their sum.
            if last.inputs.count == 2, maker(of: last.inputs[0])?.operation == "Exp",
                let sum = maker(of: last.inputs[1]), ["ReduceSum", "Sum"].contains(sum.operation),
                sum.inputs.first.flatMap(maker)?.operation == "Exp"
            {
                return .softmax
            }
        default: break
        }
        return areScores(last) ? GraphEnding.none : nil
    }

    /// True if a node's values come from layers, and no later operator bounds them: a scaled, clipped or averaged
    /// probability is not a probability.
    private func areScores(_ last: Node) -> Bool {
        var left = [last]
        var visited: Set<String> = []
        while let node = left.popLast() {
            if Self.layers.contains(node.operation) || Self.sources.contains(node.operation) { continue }
            let isTransparent = Self.transparent.contains(node.operation)
            guard isTransparent || Self.linear.contains(node.operation) else { return false }
            for input in isTransparent ? node.inputs.prefix(1) : node.inputs[...] where visited.insert(input).inserted {
                guard visited.count <= Self.maximumVisited else { return false }
                if let maker = makers[input] {
                    left.append(maker)
                } else if isOpen {
                    return false
                }
            }
        }
        return true
    }
}

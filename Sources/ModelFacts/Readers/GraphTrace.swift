/// The nodes of a graph by the tensors that they make: enough to see what an output ends in. ONNX, OpenVINO and TensorFlow have their own names
/// for the same operators.
struct GraphTrace {
    struct Node {
        var operation = ""
        /// The tensors that it takes, in order.
        var inputs: [String] = []
    }

    var makers: [String: Node] = [:]

    /// Operators that change how values are held, not the values.
    private static let transparent: Set<String> = [
        "Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "DequantizeLinear", "QuantizeLinear",
        "Dropout",
        "Convert", "Result", "FakeQuantize", "ExpandDims", "StopGradient", "Snapshot", "FakeQuantWithMinMaxVars",
        "PlaceholderWithDefault",
    ]

    /// Operators after which values can be probabilities as well as anything else.
    private static let unclear: Set<String> = [
        "Exp", "Div", "Divide", "RealDiv", "Clip", "Clamp", "ClipByValue", "Sub", "Subtract", "Concat", "ConcatV2",
        "Where",
        "Select", "SelectV2", "Pow", "Power", "Sqrt", "Tanh", "HardSigmoid", "ReduceSum", "ReduceMax", "Max", "ArgMax",
        "TopK",
        "TopKV2", "NonMaxSuppression", "Loop", "If", "While", "PartitionedCall", "StatefulPartitionedCall",
    ]

    private static let most = 64

    /// What makes a tensor, the operators passed over that leave values as they are.
    func maker(of tensor: String) -> Node? {
        var wanted = tensor
        for _ in 0..<Self.most {
            guard let node = makers[wanted] else { return nil }
            guard Self.transparent.contains(node.operation), let first = node.inputs.first else { return node }
            wanted = first
        }
        return nil
    }

    /// How an output ends; nil if it is unknown.
    func ending(of tensor: String) -> GraphEnding? {
        guard let last = maker(of: tensor) else { return nil }
        switch last.operation {
        case "Softmax", "SoftMax": return .softmax
        case "Sigmoid": return .sigmoid
        case "Exp": return last.inputs.first.flatMap(maker)?.operation == "LogSoftmax" ? .softmax : nil
        case "Div", "Divide", "RealDiv":
            // Softmax in parts: e to the power of each, divided by the sum of all.
            guard last.inputs.count == 2, maker(of: last.inputs[0])?.operation == "Exp",
                let sum = maker(of: last.inputs[1]), ["ReduceSum", "Sum"].contains(sum.operation)
            else { return nil }
            return .softmax
        case let operation: return Self.unclear.contains(operation) ? nil : GraphEnding.none
        }
    }
}

/// Counts the layers of a graph that an engine computes with 8-bit integers: convolutions and matrix products with both
/// operands rounded to 8 bits. If only the weights have 8 bits, they become floats before they are used.
struct IntegerLayers {
    /// The nodes by their output tensors.
    private var makers: [String: GraphTrace.Node] = [:]
    /// The operands of each convolution and matrix product.
    private var layers: [(String, String)] = []
    /// The number of layers that are defined on integers.
    private var integerOperators = 0
    /// Constants of any type.
    private var constants: Set<String> = []
    /// Tensors of 8 bits or fewer: constants, and the outputs of quantizers.
    private var bytes: Set<String> = []

    /// The operands of each layer type, by their input indices.
    private static let operands: [String: (Int, Int)] = [
        "Conv": (0, 1), "ConvTranspose": (0, 1), "Gemm": (0, 1), "MatMul": (0, 1), "Convolution": (0, 1),
        "GroupConvolution": (0, 1), "ConvolutionBackpropData": (0, 1), "GroupConvolutionBackpropData": (0, 1),
        "Conv2D": (0, 1), "Conv3D": (0, 1), "DepthwiseConv2dNative": (0, 1), "Conv2DBackpropInput": (2, 1),
        "BatchMatMul": (0, 1), "BatchMatMulV2": (0, 1), "BatchMatMulV3": (0, 1),
    ]
    private static let ofIntegers: Set<String> = ["QLinearConv", "QLinearMatMul"]

    /// Operators that preserve 8-bit values.
    private static let passing: Set<String> = [
        "Reshape", "Flatten", "Squeeze", "Unsqueeze", "ExpandDims", "Transpose", "Identity", "Dropout", "StopGradient",
        "MaxPool", "Relu", "ReLU", "Relu6", "Clip", "Clamp", "Concat", "ConcatV2", "VariadicSplit", "Split", "Slice",
        "StridedSlice", "Pad", "DepthToSpace", "SpaceToDepth", "ShuffleChannels", "Convert", "Cast", "DequantizeLinear",
    ]
    /// Operators that scale and shift, if their other operand is a constant.
    private static let scaling: Set<String> = ["Multiply", "Mul", "Subtract", "Sub", "Divide", "Div"]
    private static let maximumSteps = 64

    mutating func add(_ node: GraphTrace.Node, makes outputs: [String]) {
        for output in outputs { makers[output] = node }
        if Self.ofIntegers.contains(node.operation) { integerOperators += 1 }
        if let (first, second) = Self.operands[node.operation], node.inputs.indices.contains(max(first, second)) {
            layers.append((node.inputs[first], node.inputs[second]))
        }
    }

    mutating func addConstant(_ name: String, hasBytes: Bool) {
        constants.insert(name)
        if hasBytes { bytes.insert(name) }
    }

    /// Adds a tensor of values rounded to 8 bits.
    mutating func addQuantized(_ name: String) { bytes.insert(name) }

    var count: Int { integerOperators + layers.count { isOfBytes($0.0) && isOfBytes($0.1) } }

    private func isOfBytes(_ tensor: String) -> Bool {
        var tensor = tensor
        for _ in 0..<Self.maximumSteps {
            if bytes.contains(tensor) { return true }
            guard let node = makers[tensor], let first = node.inputs.first else { return false }
            let isScaling =
                Self.scaling.contains(node.operation) && node.inputs.count == 2 && isConstant(node.inputs[1])
            guard isScaling || Self.passing.contains(node.operation) else { return false }
            tensor = first
        }
        return false
    }

    private func isConstant(_ tensor: String) -> Bool {
        var tensor = tensor
        for _ in 0..<8 {
            if constants.contains(tensor) { return true }
            guard let node = makers[tensor], Self.passing.contains(node.operation), let first = node.inputs.first else {
                return false
            }
            tensor = first
        }
        return false
    }
}

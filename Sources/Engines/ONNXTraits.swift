internal import EngineAPI
internal import FileFormats
internal import SystemSupport

/// The traits of ONNX files for the comparison of engines, from the operators of the main graph.
enum ONNXTraits {
    /// The traits of a file; the defaults if it cannot be read. Blocks: reads the nodes of the file.
    static func read(_ path: String) -> FileTraits {
        guard let file = try? OpenFile(path) else { return FileTraits() }
        var operators: Set<String> = []
        var isKnown = true
        try? ONNXGraph.nodes(ByteSource(count: file.size) { file.bytes($0) }) { node in
            operators.insert(node.operation)
            isKnown = isKnown && node.domain.isEmpty
        }
        return traits(operators, isKnown: isKnown)
    }

    /// True for a file that quantizes values by their range at run time. Blocks: reads the nodes of the file.
    static func quantizesDynamically(_ path: String) -> Bool {
        guard let file = try? OpenFile(path) else { return false }
        var isDynamic = false
        try? ONNXGraph.nodes(ByteSource(count: file.size) { file.bytes($0) }) { node in
            isDynamic = isDynamic || node.operation == "DynamicQuantizeLinear"
        }
        return isDynamic
    }

    /// The operator of a file that OpenVINO is known to compute wrongly, where ONNX Runtime is no help; nil if none is
    /// known. Measured with OpenVINO 2026.4 and ONNX Runtime 1.28 by Tests/Operators. Blocks: reads the nodes.
    static func fault(_ source: ModelSource) -> EngineFault? {
        guard let file = try? OpenFile(source.path) else { return nil }
        let bytes = ByteSource(count: file.size) { file.bytes($0) }
        var fault: EngineFault?
        try? ONNXGraph.nodes(bytes) { node in
            guard fault == nil else { return }
            if ["GRU", "LSTM", "RNN"].contains(node.operation), ONNXGraph.integer("layout", of: node, bytes) == 1 {
                fault = EngineFault(
                    "computes \(node.operation) with layout 1 wrongly for open axes", isOfOpenAxes: true)
            }
            if node.operation == "Resize", ONNXGraph.integer("antialias", of: node, bytes) == 1,
                ONNXGraph.hasInput(of: int8, bytes)
            {
                fault = EngineFault("computes Resize of int8 with antialias wrongly", isShared: true)
            }
        }
        return fault
    }

    /// - Parameters:
    ///   - operators: the names of all operators.
    ///   - isKnown: false if some are of other domains than ONNX's own.
    static func traits(_ operators: Set<String>, isKnown: Bool) -> FileTraits {
        var traits = FileTraits()
        traits.computesInIntegers = operators.contains { name in
            inIntegers.contains(name) || name.hasPrefix("QLinear") || name.hasPrefix("QGemm")
                || name.hasPrefix("MatMulInteger")
        }
        guard isKnown, operators.isDisjoint(with: withGraphs) else { return traits }
        traits.selectsOnly = operators.isSubset(of: selections)
        traits.takesAnyInteger = operators.isSubset(of: arithmetic)
        traits.keepsNaN = operators.isDisjoint(with: placing)
        return traits
    }

    /// TensorProto.DataType.
    private static let int8: UInt64 = 3
    private static let inIntegers: Set = ["QuantizeLinear", "DynamicQuantizeLinear", "ConvInteger"]
    /// Operators with graphs of their own: the operators in these are not examined.
    private static let withGraphs: Set = ["If", "Loop", "Scan", "SequenceMap"]

    private static let selections: Set = [
        "Abs", "And", "ArgMax", "ArgMin", "Cast", "Ceil", "Clip", "Compress", "Concat", "DepthToSpace", "Equal",
        "Expand", "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "GlobalMaxPool", "Greater",
        "GreaterOrEqual", "Hardmax", "Identity", "IsInf", "IsNaN", "Less", "LessOrEqual", "Max", "MaxPool", "Min",
        "Neg",
        "NonMaxSuppression", "NonZero", "Not", "OneHot", "Or", "Pad", "ReduceMax", "ReduceMin", "Relu", "Reshape",
        "ReverseSequence", "Round", "ScatterElements", "ScatterND", "Shape", "Sign", "Slice", "SpaceToDepth", "Split",
        "Squeeze", "Tile", "TopK", "Transpose", "Trilu", "Unique", "Unsqueeze", "Where", "Xor",
    ]

    private static let arithmetic: Set = [
        "Abs", "Add", "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "Clip",
        "Concat",
        "Div", "Equal", "Flatten", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "MatMul", "Max",
        "Min",
        "Mod", "Mul", "Neg", "Not", "Or", "ReduceMax", "ReduceMin", "Relu", "Sign", "Sub", "Transpose", "Xor",
    ]

    /// Operators that use numbers as places or sizes. Kernels may not check them for NaN.
    private static let placing: Set = [
        "AffineGrid", "CenterCropPad", "ConstantOfShape", "DeformConv", "GridSample", "MaxRoiPool", "NonMaxSuppression",
        "Range", "Resize", "RoiAlign", "Upsample",
    ]
}

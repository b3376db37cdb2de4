internal import EngineAPI
internal import EngineImporters
internal import EngineLiteRT

/// LiteRT as the referee for a TensorFlow Lite file: the differences that its operators allow, the operators for which
/// its answers prove nothing, and the parts of a file that computes in integers.
enum TFLiteReferee {
    /// The operator of a file that OpenVINO is known to compute wrongly; nil if none is known. Blocks: reads the file.
    static func fault(_ source: ModelSource) -> EngineFault? {
        TFLiteFile.bytes(source.path).flatMap(TFLiteFault.first)
    }

    /// The referee for a file. Blocks: reads the file.
    static func make(_ engine: any Engine, _ source: ModelSource) -> EngineReferee {
        var referee = EngineReferee(engine)
        referee.variant = (engine as? LiteRTEngine)?.with(.builtin)
        referee.isFragile = true
        // A file that cannot be read is reported by the engines.
        guard let bytes = TFLiteFile.bytes(source.path), let operators = try? TFLiteOperators(bytes) else {
            return referee
        }
        referee.traits = traits(operators)
        referee.fault = TFLiteFault.first(in: bytes)
        referee.disclaimer = operators.blindSpots.first?.reason
        // The heads of such detectors are known from the outputs that the importer gives them, with their shapes.
        if operators.names.contains(detection) {
            referee.disclaimer = "its detections are computed by the importer, and LiteRT's have no shape in the file"
            return referee
        }
        let needsParts =
            operators.arithmetic.contains(.integers) || operators.blindSpots.contains(where: \.isForValuesOutOfRange)
        if needsParts, let slices = try? TFLiteSlices(bytes), slices.slices.count > 1 {
            referee.parts = TFLiteParts(file: bytes, slices: slices)
        }
        return referee
    }

    private static let detection = "TFLite_Detection_PostProcess"

    private static func traits(_ operators: TFLiteOperators) -> FileTraits {
        var traits = FileTraits()
        traits.computesInIntegers = operators.arithmetic.contains(.integers)
        if operators.arithmetic.contains(.dynamicRange) { traits.rounding = dynamicRangeRounding }
        guard !operators.hasOtherSubgraphs else { return traits }
        // Integers are moved without rounding, except by operators that have a scale for each input.
        if traits.computesInIntegers {
            traits.selectsOnly = operators.names.isSubset(of: movements.subtracting(["CONCATENATION", "PACK"]))
            return traits
        }
        traits.selectsOnly = operators.names.isSubset(of: selections)
        traits.takesAnyInteger = operators.names.isSubset(of: arithmetic)
        traits.keepsNaN = operators.names.isSubset(of: keepingNaN)
        return traits
    }

    /// Kernels that round activations to 8 bits differ by this fraction of an output's root mean square.
    private static let dynamicRangeRounding = 2e-2

    private static let comparisons: Set = [
        "EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR",
        "NOT_EQUAL",
    ]

    private static let movements: Set = [
        "BATCH_TO_SPACE_ND", "BROADCAST_TO", "CONCATENATION", "DEPTH_TO_SPACE", "EXPAND_DIMS", "MIRROR_PAD", "PACK",
        "PAD", "PADV2", "RESHAPE", "REVERSE_V2", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V",
        "SQUEEZE", "STRIDED_SLICE", "TILE", "TRANSPOSE", "UNPACK",
    ]

    private static let choices: Set = [
        "ABS", "MAXIMUM", "MINIMUM", "NEG", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "SIGN",
    ]

    private static let selections = comparisons.union(movements).union(choices).union([
        "ARG_MAX", "ARG_MIN", "CEIL", "FLOOR", "GATHER", "GATHER_ND", "MAX_POOL_2D", "ONE_HOT", "REDUCE_ALL",
        "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "ROUND", "SELECT", "SELECT_V2", "TOPK_V2",
    ])

    private static let arithmetic = comparisons.union(choices).union([
        "ADD", "BITWISE_XOR", "CONCATENATION", "DIV", "FLOOR_DIV", "FLOOR_MOD", "MUL", "RESHAPE", "RIGHT_SHIFT",
        "SQUARE", "SUB", "TRANSPOSE",
    ])

    /// Operators for which both kernels of LiteRT return NaN for NaN.
    private static let keepingNaN = movements.union([
        "ABS", "ADD", "MUL", "NEG", "RELU", "RELU6", "RELU_0_TO_1", "SQUARE", "SUB",
    ])
}

/// The parts of a TensorFlow Lite file.
private struct TFLiteParts: FileParts {
    let file: [UInt8]
    let slices: TFLiteSlices

    var count: Int { slices.slices.count }
    var modelInputs: [Int] { slices.inputs.map(\.tensor) }

    func operators(of part: Int) -> String {
        let names = slices.slices[part].names
        guard let first = names.first, let last = names.last, names.count > 1 else { return names.first ?? "" }
        return "its operators \(slices.slices[part].operators.first ?? 0) (\(first)) to "
            + "\(slices.slices[part].operators.last ?? 0) (\(last))"
    }

    func tensors(of part: Int) -> (inputs: [Int], outputs: [Int]) {
        (slices.slices[part].inputs.map(\.tensor), slices.slices[part].outputs.map(\.tensor))
    }

    func disclaimer(of part: Int) -> String? { slices.slices[part].blindSpots.first?.reason }

    func withFile<R>(of part: Int, _ body: (String) throws(EngineError) -> R) throws(EngineError) -> R {
        try TFLiteFile.withTemporaryFile(slices.slices[part].bytes(of: file), body)
    }
}

/// Properties of operators that decide whether LiteRT's answers prove anything, and where a file may be cut.
///
/// Source: the reference of TensorFlow Lite's operators. The comments say where LiteRT 2.3 was measured.
enum TFLiteTraits {
    typealias Names = TFLiteNames

    /// Operators with random results.
    static let random = Names.codes(
        "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM", "MULTINOMIAL", "STABLEHLO_RNG_BIT_GENERATOR")

    /// Operators with values that stay from one run to the next.
    static let stateful = Names.codes(
        "VAR_HANDLE", "ASSIGN_VARIABLE", "READ_VARIABLE", "CALL_ONCE", "HASHTABLE", "HASHTABLE_FIND",
        "HASHTABLE_IMPORT", "HASHTABLE_SIZE")

    /// Operators with activations of their own, for which `fused_activation_function` is the cell's.
    static let recurrent = Names.codes(
        "LSTM", "RNN", "SVDF", "UNIDIRECTIONAL_SEQUENCE_RNN", "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "BIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM")

    /// Operators that run other subgraphs.
    static let callers = Names.codes(
        "CALL", "CALL_ONCE", "IF", "WHILE", "STABLEHLO_WHILE", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE",
        "STABLEHLO_CUSTOM_CALL", "STABLEHLO_REDUCE", "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_SCATTER", "STABLEHLO_SORT")

    /// Operators in which the smallest difference of an input can change a result by any amount.
    static let jumping = Names.codes(
        "ARG_MAX", "ARG_MIN", "BUCKETIZE", "CEIL", "EQUAL", "FLOOR", "FLOOR_DIV", "FLOOR_MOD", "GREATER",
        "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL", "ROUND", "SIGN", "STABLEHLO_COMPARE", "STABLEHLO_FLOOR",
        "STABLEHLO_REMAINDER", "STABLEHLO_SORT", "TOPK_V2", "UNIQUE", "WHERE")

    static let suppressions = Names.codes("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
    static let casts = Names.codes("CAST", "STABLEHLO_CONVERT")
    static let dequantize = Names.codes("DEQUANTIZE")

    /// Operators of which only the shape of the input matters.
    static let readingShapes = Names.codes("SHAPE", "RANK")

    /// True if an operator must not run more often than the file says, or does something that is not known here.
    static func isUnique(_ code: Int) -> Bool {
        code == Names.customCode || random.contains(code) || stateful.contains(code) || recurrent.contains(code)
            || callers.contains(code)
    }

    /// The inputs that determine the shape of the outputs, by the operator's code; an empty list if it depends on all
    /// values.
    static let shapeInputs: [Int: [Int]] = {
        let inputs: [(Set<Int>, [Int])] = [
            (Names.codes("WHERE", "UNIQUE", "SEGMENT_SUM", "EMBEDDING_LOOKUP_SPARSE"), []),
            (Names.codes("FILL", "RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL"), [0]),
            (Names.codes("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE", "SPLIT"), [0]),
            (Names.codes("RANGE"), [0, 1, 2]),
            (
                Names.codes(
                    "RESHAPE", "BROADCAST_TO", "TILE", "TRANSPOSE", "EXPAND_DIMS", "PAD", "PADV2", "MIRROR_PAD"), [1]
            ),
            (
                Names.codes(
                    "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "ONE_HOT", "TOPK_V2", "MULTINOMIAL", "RFFT2D"), [1]
            ),
            (Names.codes("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"), [1]),
            (Names.codes("ARG_MAX", "ARG_MIN", "SPLIT_V", "SPARSE_TO_DENSE"), [1]),
            (Names.codes("SLICE", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"), [1, 2]),
            (Names.codes("STRIDED_SLICE"), [1, 2, 3]),
            (Names.codes("SCATTER_ND", "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"), [2]),
            (
                Names.codes(
                    "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_MIN"),
                [2]
            ),
        ]
        var table: [Int: [Int]] = [:]
        for (codes, places) in inputs { for code in codes { table[code] = places } }
        return table
    }()

    /// The field of `fused_activation_function` in a table of options, by the type of the table (BuiltinOptions).
    static let activationFields: [UInt8: Int] = [
        // Conv2D, DepthwiseConv2D, Pool2D, FullyConnected, Concatenation
        1: 3, 2: 4, 5: 5, 8: 0, 10: 1,
        // Add, L2Norm, Mul, Sub, Div, TransposeConv, Conv3D
        11: 0, 12: 0, 21: 0, 28: 0, 29: 0, 49: 3, 106: 4,
    ]
}

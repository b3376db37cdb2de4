"""The TF Lite part of the matrix: the cases of all families, and the operators of TF Lite's schema that have none, with the reason."""

from ai_edge_litert import schema_py_generated as schema

import tflite_elementwise
import tflite_moving
import tflite_reductions
import tflite_windows

FAMILIES = (tflite_windows, tflite_moving, tflite_elementwise, tflite_reductions)

# Operators of the schema without a case, by reason.
LEFT_OUT = {
    "for compilers, not in files": "CUSTOM DELEGATE PLACEHOLDER_FOR_GREATER_OP_CODES",
    "answers differ by chance": "RANDOM_STANDARD_NORMAL RANDOM_UNIFORM MULTINOMIAL STABLEHLO_RNG_BIT_GENERATOR",
    "strings and texts": "LSH_PROJECTION SKIP_GRAM EMBEDDING_LOOKUP_SPARSE CONCAT_EMBEDDINGS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_LOOKUP HASHTABLE_SIZE",
    "state between runs, like UNIDIRECTIONAL_SEQUENCE_LSTM": "LSTM RNN SVDF UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE CALL_ONCE",
    "graphs inside": "CALL IF WHILE STABLEHLO_WHILE STABLEHLO_CASE STABLEHLO_REDUCE STABLEHLO_REDUCE_WINDOW STABLEHLO_SCATTER STABLEHLO_SORT STABLEHLO_COMPOSITE STABLEHLO_CUSTOM_CALL",
    "complex outputs": "IMAG REAL",
    "sparse weights": "DENSIFY",
    "not written by a converter for pictures": "REDUCE_WINDOW STABLEHLO_AND STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CBRT STABLEHLO_CLAMP STABLEHLO_COMPARE STABLEHLO_CONCATENATE STABLEHLO_CONVERT "
    "STABLEHLO_CONVOLUTION STABLEHLO_DOT_GENERAL STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_GATHER STABLEHLO_IOTA STABLEHLO_LOG STABLEHLO_OR STABLEHLO_PAD "
    "STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RESHAPE STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SHIFT_LEFT STABLEHLO_SLICE STABLEHLO_TRANSPOSE",
}


def cases():
    found = [case for family in FAMILIES for case in family.cases()]
    covered = {operator for case in found for operator in case.covers}
    left_out = {name for names in LEFT_OUT.values() for name in names.split()}
    known = {name for name in vars(schema.BuiltinOperator) if name.isupper()}
    if missing := known - covered - left_out:
        raise SystemExit(f"operators of TF Lite's schema without a case or a reason: {', '.join(sorted(missing))}")
    if both := covered & left_out:
        raise SystemExit(f"operators with a case and a reason to have none: {', '.join(sorted(both))}")
    return found

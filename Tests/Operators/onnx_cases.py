"""The ONNX part of the matrix: the cases of all families, and the operators of ONNX's schema that have none, with the reason."""

import onnx

import onnx_elementwise
import onnx_integers
import onnx_networks
import onnx_reductions
import onnx_resizing
import onnx_selection
import onnx_windows

FAMILIES = (onnx_windows, onnx_resizing, onnx_elementwise, onnx_selection, onnx_reductions, onnx_integers, onnx_networks)

# Operators of the schema without a case, by reason.
LEFT_OUT = {
    "answers differ by chance": "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    "for training": "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
    "strings and texts": "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
    "sound": "MelWeightMatrix",
    "an encoded picture as the input, which the daemon decodes itself": "ImageDecoder",
    "optional values and sequences as outputs": "Optional OptionalGetElement OptionalHasElement SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap",
    "newer than both engines": "BitCast CausalConvWithState LinearAttention SwiGLU",
}


def cases():
    found = [case for family in FAMILIES for case in family.cases()]
    covered = {operator for case in found for operator in case.covers}
    left_out = {name for names in LEFT_OUT.values() for name in names.split()}
    schema = {each.name for each in onnx.defs.get_all_schemas() if each.domain == ""}
    if missing := schema - covered - left_out:
        raise SystemExit(f"operators of ONNX's schema without a case or a reason: {', '.join(sorted(missing))}")
    if both := covered & left_out:
        raise SystemExit(f"operators with a case and a reason to have none: {', '.join(sorted(both))}")
    return found

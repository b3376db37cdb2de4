"""ONNX operators that compute each element by itself, in every type of the schema that a picture's tensors have."""

import numpy
import onnx
from onnx import TensorProto

from onnx_model import OPSET, Family, first_version

# Types by the names of ONNX's schemas.
TYPES = {"tensor(float)": "f4", "tensor(float16)": "f2", "tensor(uint8)": "u1", "tensor(int8)": "i1", "tensor(int32)": "i4", "tensor(bool)": "?"}
SHAPE = (1, 3, 6, 8)


def cases():
    family = Family(3, {"float32", "uint8"})
    for part in (single, limits, special, pairs, division, broadcasts, several, comparisons, bits, conversions, activations):
        part(family)
    return family.cases


def types(operator):
    """The types that the schema allows for the first input."""
    schema = onnx.defs.get_schema(operator, max(OPSET, first_version(operator)))
    allowed = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == schema.inputs[0].type_str))
    return [dtype for name, dtype in TYPES.items() if name in allowed]


def single(f):
    bounded = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.95, 0.95), "Acosh": (1, 9), "Log": (0.01, 9), "Sqrt": (0, 9), "Reciprocal": (0.2, 3)}
    for operator in ("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Identity Log Neg Reciprocal Relu Round Sigmoid Sign Sin Sinh "
                     "Softplus Softsign Sqrt Tan Tanh").split():
        for dtype in types(operator):
            low, high = bounded.get(operator, (None, None)) if dtype in ("f4", "f2") else (None, None)
            f.add(operator, "plain", {"x": f.noise(*SHAPE, dtype=dtype, low=low, high=high)})
    f.add("Round", "halves", {"x": (f.noise(*SHAPE, dtype="i4", low=-9, high=9) / 2).astype("f4")})
    f.add("Not", "plain", {"x": f.noise(*SHAPE, dtype="?")})


def limits(f):
    """Values at which formulas overflow or lose their digits."""
    values = numpy.array([-1e30, -100, -20, -9, -1e-3, -1e-30, 0, 1e-30, 1e-3, 9, 20, 88, 100, 1e30, 3, -3], "f4").reshape(1, 1, 4, 4)
    for operator in ("Exp", "Sigmoid", "Tanh", "Softplus", "Erf", "Softsign", "Sign", "HardSwish", "Mish", "Gelu", "Elu", "Selu"):
        f.add(operator, "extremes", {"x": values if operator != "Exp" else numpy.clip(values, -200, 80)}, opset=20 if operator == "Gelu" else 18)
    f.add("Log", "zero and below", {"x": values})
    f.add("Sqrt", "below zero", {"x": values})
    f.add("Reciprocal", "of zero", {"x": values})


def special(f):
    """NaN and infinities pass, or do not, as the formulas say."""
    x = f.noise(1, 2, 3, 4)
    x[0, 0, 0, :3] = numpy.nan, numpy.inf, -numpy.inf
    for operator in ("Relu", "Abs", "Neg", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Softplus", "HardSigmoid", "HardSwish", "Floor", "Round", "Sqrt", "Erf", "Sign"):
        f.add(operator, "NaN", {"x": x}, right=SPECIAL.get(operator))
    f.add("Clip", "NaN", {"x": x}, {"low": numpy.float32(0), "high": numpy.float32(6)}, right=SPECIAL.get("Clip"))
    f.add("Clip", "NaN, opset 6", {"x": x}, opset=6, min=0.0, max=6.0, right=SPECIAL.get("Clip"))
    f.add("IsNaN", "plain", {"x": x})
    f.add("IsInf", "plain", {"x": x})
    f.add("IsInf", "negative only", {"x": x}, detect_positive=0)
    for operator in ("Max", "Min"):
        f.add(operator, "NaN", {"x": x, "z": f.noise(1, 2, 3, 4)}, right=SPECIAL.get(operator))
    for operator in ("Greater", "Less", "Equal", "GreaterOrEqual"):
        f.add(operator, "NaN", {"x": x, "z": f.noise(1, 2, 3, 4)})
    f.add("PRelu", "NaN", {"x": x}, {"slope": numpy.full((2, 1, 1), 0.5, "f4")})


SPECIAL = {}


def pairs(f):
    for operator in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"):
        for dtype in types(operator):
            a, b = f.noise(*SHAPE, dtype=dtype), f.noise(*SHAPE, dtype=dtype)
            if operator == "Div":
                b = numpy.where(b == 0, 3, b).astype(dtype) if dtype[0] != "f" else numpy.sign(b) * (numpy.abs(b) + numpy.array(0.3, dtype))
            if operator == "Pow":
                a, b = (numpy.abs(a) + numpy.array(0.1, dtype), b) if dtype[0] == "f" else (a % 9, b % 4)
            f.add(operator, "plain", {"x": a.astype(dtype), "z": b.astype(dtype)})
            if dtype in ("u1", "i1") and operator != "Pow":
                f.add(operator, "constant", {"x": a}, {"z": numpy.array([7], dtype)})
                quiet = f.noise(*SHAPE, dtype=dtype, low=1, high=9)
                f.add(operator, "without overflow", {"x": numpy.maximum(quiet, 5) if operator == "Sub" else quiet, "z": numpy.minimum(quiet, 5)})
    f.add("Pow", "integer exponent", {"x": f.noise(*SHAPE)}, {"z": numpy.array(3, "i8")})
    f.add("Pow", "two", {"x": f.noise(*SHAPE)}, {"z": numpy.float32(2)})
    for dtype in ("f4", "f2", "u1", "i1", "i4"):
        a, b = f.noise(*SHAPE, dtype=dtype), f.noise(*SHAPE, dtype=dtype)
        b = (numpy.abs(b) % 9 + 1).astype(dtype) * numpy.where(f.noise(*SHAPE) > 0, 1, 1 if dtype == "u1" else -1).astype(dtype)
        f.add("Mod", "fmod", {"x": a, "z": b}, fmod=1)
        if dtype[0] != "f":
            f.add("Mod", "plain", {"x": a, "z": b})


def division(f):
    large = f.noise(*SHAPE, dtype="i4", low=2**24, high=2**31 - 1)
    odd = f.noise(*SHAPE, dtype="i4", low=-9, high=9) * 2 + 1
    f.add("Div", "above 2^24", {"x": large, "z": odd})
    f.add("Div", "above 2^24 by a constant", {"x": large}, {"z": numpy.array([3], "i4")})
    f.add("Div", "above 2^53", {"x": f.noise(*SHAPE, dtype="i8", low=2**53, high=2**60), "z": odd.astype("i8")})
    f.add("Mul", "above 2^24", {"x": f.noise(*SHAPE, dtype="i4", low=2**12, high=2**15), "z": f.noise(*SHAPE, dtype="i4", low=2**12, high=2**15)})
    f.add("Add", "above 2^24", {"x": large // 2, "z": f.noise(*SHAPE, dtype="i4", low=2**24, high=2**30)})
    f.add("Sub", "above 2^24", {"x": large, "z": f.noise(*SHAPE, dtype="i4", low=2**24, high=2**30)})
    f.add("Mod", "above 2^24", {"x": large, "z": odd})
    f.add("Max", "above 2^24", {"x": large, "z": large + f.noise(*SHAPE, dtype="i4", low=-1, high=0)})


def broadcasts(f):
    x = f.noise(*SHAPE)
    for operator in ("Add", "Mul", "Sub", "Div", "Pow", "Max", "Less", "Where"):
        other = numpy.abs(f.noise(3, 1, 1)) + numpy.float32(0.5)
        if operator == "Where":
            f.add(operator, "per channel", {"c": f.noise(*SHAPE, dtype="?"), "x": x}, {"z": other})
        else:
            f.add(operator, "per channel", {"x": numpy.abs(x) if operator == "Pow" else x}, {"z": other})
    f.add("Add", "both ways", {"x": f.noise(1, 3, 6, 1), "z": f.noise(2, 1, 1, 8)})
    f.add("Add", "row", {"x": x}, {"z": f.noise(8)}, axes=("fixed",))
    f.add("Expand", "plain", {"x": f.noise(1, 3, 1, 1)}, {"s": numpy.array([1, 3, 4, 5])}, opened={"x": ()}, axes=("fixed",))
    f.add("Expand", "shape as an input", {"x": f.noise(1, 3, 1, 1), "s": numpy.array([2, 3, 4, 5])}, opened={"x": (0,)})
    for dtype in ("f4", "f2", "u1", "i1", "i4", "?"):
        f.add("Where", "plain", {"c": f.noise(*SHAPE, dtype="?"), "x": f.noise(*SHAPE, dtype=dtype), "z": f.noise(*SHAPE, dtype=dtype)}, types=numpy.dtype(dtype).name)


def several(f):
    for operator in ("Max", "Min", "Mean", "Sum"):
        f.add(operator, "three", {"x": f.noise(*SHAPE), "y2": f.noise(*SHAPE), "z": f.noise(*SHAPE)})
        f.add(operator, "one", {"x": f.noise(*SHAPE)})


def comparisons(f):
    for operator in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"):
        for dtype in types(operator):
            a = f.noise(*SHAPE, dtype=dtype)
            f.add(operator, "plain", {"x": a, "z": numpy.where(f.noise(*SHAPE) > 0, a, f.noise(*SHAPE, dtype=dtype))})
    for operator in ("And", "Or", "Xor"):
        f.add(operator, "plain", {"x": f.noise(*SHAPE, dtype="?"), "z": f.noise(*SHAPE, dtype="?")})


def bits(f):
    for direction in ("LEFT", "RIGHT"):
        f.add("BitShift", direction, {"x": f.noise(*SHAPE, dtype="u1"), "z": f.noise(*SHAPE, dtype="u1", low=0, high=7)}, direction=direction)
    for operator in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        for dtype in ("u1", "i1", "i4"):
            f.add(operator, "plain", {"x": f.noise(*SHAPE, dtype=dtype), "z": f.noise(*SHAPE, dtype=dtype)}, opset=18)
    for dtype in ("u1", "i1", "i4"):
        f.add("BitwiseNot", "plain", {"x": f.noise(*SHAPE, dtype=dtype)}, opset=18)


def conversions(f):
    names = {"f4": "FLOAT", "f2": "FLOAT16", "u1": "UINT8", "i1": "INT8", "i4": "INT32", "?": "BOOL", "i8": "INT64"}
    for source in names:
        for target in names:
            if source == target:
                continue
            # Values that both types have: what others become, ONNX does not say.
            low, high = (0, 120) if "u1" in (source, target) else (-120, 120)
            x = f.noise(*SHAPE, dtype=source, low=low, high=high) if source != "?" else f.noise(*SHAPE, dtype="?")
            x.flat[:2] = 0
            f.add("Cast", f"to {names[target].lower()}", {"x": x}, to=getattr(TensorProto, names[target]))
    x = f.noise(*SHAPE, dtype="f4", low=-120, high=120)
    f.add("CastLike", "to int8", {"x": x}, {"like": numpy.zeros(1, "i1")}, opset=15)
    f.add("Cast", "halves to integers", {"x": (f.noise(*SHAPE, dtype="i4", low=-20, high=20) / 2).astype("f4")}, to=TensorProto.INT32)
    f.add("Cast", "integers above 2^24", {"x": f.noise(*SHAPE, dtype="i4", low=2**24, high=2**31 - 1)}, to=TensorProto.INT64)
    f.add("Cast", "integers that wrap", {"x": f.noise(*SHAPE, dtype="i4", low=-1000, high=1000)}, to=TensorProto.UINT8)


def activations(f):
    x = f.noise(*SHAPE) * 3
    for operator, attributes in {"Celu": {"alpha": 0.7}, "Elu": {"alpha": 1.3}, "HardSigmoid": {"alpha": 0.3, "beta": 0.4}, "HardSwish": {}, "LeakyRelu": {"alpha": 0.2},
                                 "Mish": {}, "Selu": {"alpha": 1.5, "gamma": 1.2}, "ThresholdedRelu": {"alpha": 0.8}, "Shrink": {"lambd": 0.7, "bias": 0.3}}.items():
        f.add(operator, "plain", {"x": x}, opset=18, **attributes)
        f.add(operator, "defaults", {"x": x}, opset=18)
        if operator != "Celu":  # the schema has float alone
            f.add(operator, "float16", {"x": x.astype("f2")}, opset=18)
    f.add("Shrink", "bytes", {"x": f.noise(*SHAPE, dtype="i1")}, lambd=20.0, bias=3.0)
    f.add("Gelu", "plain", {"x": x}, opset=20)
    f.add("Gelu", "tanh", {"x": x}, opset=20, approximate="tanh")
    f.add("Swish", "plain", {"x": x}, opset=24, alpha=1.5)
    for word, slope in (("per channel", f.noise(3, 1, 1)), ("one slope", f.noise(1)), ("full", f.noise(*SHAPE)), ("one slope of rank 3", f.noise(1, 1, 1))):
        f.add("PRelu", word, {"x": x}, {"slope": slope}, **({"axes": ("fixed",)} if word == "full" else {}))
    f.add("PRelu", "slope as an input", {"x": x, "slope": f.noise(3, 1, 1)}, opened={"x": (2, 3)})
    f.add("PRelu", "three axes", {"x": f.noise(1, 4, 6)}, {"slope": f.noise(4, 1)}, opened={"x": (2,)})
    for dtype in ("f4", "f2", "u1", "i1", "i4"):
        value = (f.noise(*SHAPE, dtype=dtype) * (3 if dtype[0] == "f" else 1)).astype(dtype)
        f.add("Clip", "both", {"x": value}, {"low": numpy.array(1, dtype), "high": numpy.array(4, dtype)})
    f.add("Clip", "low only", {"x": x}, {"low": numpy.float32(0.3)})
    f.add("Clip", "high only", {"x": x}, {"high": numpy.float32(0.3)}, order=["x", "", "high"])
    f.add("Clip", "low above high", {"x": x}, {"low": numpy.float32(2), "high": numpy.float32(-1)})
    f.add("Clip", "opset 6", {"x": x}, opset=6, min=-1.0, max=2.0)
    f.add("Clip", "limits as inputs", {"x": x, "low": numpy.array(-1, "f4"), "high": numpy.array(1, "f4")}, opened={"x": (2, 3)})

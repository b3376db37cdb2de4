"""TF Lite operators that compute each element by itself."""

import math

import numpy
from ai_edge_litert import schema_py_generated as schema

from tflite_model import FORMULA, Family
from tflite_windows import ACTIVATIONS, activated

SHAPE = (1, 6, 8, 3)
NEGATED = (FORMULA, "LiteRT does not read the zero point")
QUANTIZED = {"i1": (0.05, 3), "u1": (0.05, 128)}


def cases():
    family = Family(12, {"float32", "int8"})
    for part in (single, quantized, activations, pairs, quantized_pairs, integers, comparisons, conversions, choices):
        part(family)
    return family.cases


def erf(x):
    return numpy.vectorize(math.erf)(x.astype("f8"))


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x.astype("f8")))


FLOAT = {
    "ABS": (numpy.abs, None), "CEIL": (numpy.ceil, None), "COS": (numpy.cos, None), "ELU": (lambda x: numpy.where(x > 0, x, numpy.expm1(x)), None), "EXP": (numpy.exp, "ExpOptions"),
    "FLOOR": (numpy.floor, None), "HARD_SWISH": (lambda x: x * numpy.clip(x + 3, 0, 6) / 6, "HardSwishOptions"), "LOG": (numpy.log, None), "LOGISTIC": (sigmoid, None), "NEG": (numpy.negative, "NegOptions"),
    "RELU": (lambda x: numpy.maximum(x, 0), None), "RELU6": (lambda x: numpy.clip(x, 0, 6), None), "RELU_N1_TO_1": (lambda x: numpy.clip(x, -1, 1), None), "RELU_0_TO_1": (lambda x: numpy.clip(x, 0, 1), None),
    "ROUND": (numpy.round, None), "RSQRT": (lambda x: 1 / numpy.sqrt(x), None), "SIGN": (numpy.sign, "SignOptions"), "SIN": (numpy.sin, None), "SQRT": (numpy.sqrt, None), "SQUARE": (numpy.square, "SquareOptions"),
    "TANH": (numpy.tanh, None), "ZEROS_LIKE": (numpy.zeros_like, "ZerosLikeOptions"),
}
POSITIVE = {"LOG", "RSQRT", "SQRT"}


def with_options(table):
    return (table, {}) if table else None


def single(f):
    special = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0, -0.0, 1, -2, 8], "f4").reshape(1, 2, 4, 1)
    for operator, (formula, table) in FLOAT.items():
        x = f.noise(*SHAPE) * 3
        x = numpy.abs(x) + numpy.float32(0.05) if operator in POSITIVE else x
        f.add(operator, "plain", {"x": x}, options=with_options(table), formula=lambda x, g=formula: g(x).astype("f4"))
        if operator in ("RELU", "RELU6", "ABS", "NEG", "LOGISTIC", "TANH", "HARD_SWISH", "FLOOR", "SQRT", "ELU", "RELU_N1_TO_1", "RELU_0_TO_1"):
            f.add(operator, "NaN", {"x": special}, options=with_options(table), formula=lambda x, g=formula: g(x).astype("f4"))
    f.add("ROUND", "halves", {"x": (f.noise(*SHAPE, dtype="i4", low=-9, high=9) / 2).astype("f4")}, formula=numpy.round)
    for approximate in (False, True):
        exact = lambda x: (0.5 * x * (1 + erf(x / math.sqrt(2)))).astype("f4")
        tanh = lambda x: (0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x.astype("f8") ** 3)))).astype("f4")
        f.add("GELU", "tanh" if approximate else "plain", {"x": f.noise(*SHAPE) * 3}, options=("GeluOptions", {"approximate": approximate}), formula=tanh if approximate else exact)


def requantized(formula, scales, dtype):
    """A float formula between dequantized inputs and a quantized output."""
    def compute(*values):
        real = [(value.astype("f8") - scales[name][1]) * scales[name][0] for name, value in zip("xz", values)]
        limits = numpy.iinfo(dtype)
        return numpy.clip(numpy.round(formula(*real) / scales["y"][0]) + scales["y"][1], limits.min, limits.max).astype(dtype)
    return compute


def quantized(f):
    for dtype, parameters in QUANTIZED.items():
        zero = -128 if dtype == "i1" else 0
        fixed = {"LOGISTIC": (1 / 256, zero), "TANH": (1 / 128, 0 if dtype == "i1" else 128)}
        for operator in ("LOGISTIC", "TANH", "HARD_SWISH", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "ELU", "ABS", "EXP", "LOG", "RSQRT", "SQRT", "NEG"):
            scales = {"x": parameters, "y": fixed.get(operator, parameters)}
            x = f.noise(*SHAPE, dtype=dtype)
            if operator in ("LOG", "RSQRT", "SQRT"):
                scales, x = {"x": (0.02, zero), "y": (0.03, parameters[1])}, f.noise(*SHAPE, dtype=dtype, low=zero + 5)
            if operator == "ABS":
                scales = {"x": parameters, "y": (0.05, zero)}
            version = 1 if operator in ("HARD_SWISH", "RELU_N1_TO_1", "RELU_0_TO_1", "ELU", "NEG") else 2
            f.add(operator, "plain", {"x": x}, scales=scales, options=with_options(FLOAT[operator][1]), version=version, tolerance=1, formula=requantized(FLOAT[operator][0], scales, dtype),
                  right=NEGATED if operator == "NEG" else None)
        f.add("GELU", "plain", {"x": f.noise(*SHAPE, dtype=dtype)}, scales={"x": parameters, "y": parameters}, options=("GeluOptions", {"approximate": False}), version=2, tolerance=1)
        f.add("RELU", "other scale", {"x": f.noise(*SHAPE, dtype=dtype)}, scales={"x": parameters, "y": (0.03, zero)}, version=2, tolerance=1)


def activations(f):
    x = f.noise(*SHAPE) * 3
    for slope in (0.2, -0.3):
        f.add("LEAKY_RELU", f"alpha {slope}", {"x": x}, options=("LeakyReluOptions", {"alpha": slope}), formula=lambda x, a=slope: numpy.where(x > 0, x, x * numpy.float32(a)))
    for word, slope in (("per channel", f.noise(1, 1, 3)), ("one slope", f.noise(1)), ("full", f.noise(6, 8, 3))):
        f.add("PRELU", word, {"x": x}, {"slope": slope}, axes=("fixed",) if word == "full" else ("fixed", "open"), formula=lambda x, slope: numpy.where(x > 0, x, x * slope))
    for dtype, parameters in QUANTIZED.items():
        f.add("LEAKY_RELU", "alpha 0.2", {"x": f.noise(*SHAPE, dtype=dtype)}, scales={"x": parameters, "y": (0.04, parameters[1])}, options=("LeakyReluOptions", {"alpha": 0.2}), version=2 if dtype == "i1" else 1, tolerance=1)
        f.add("PRELU", "per channel", {"x": f.noise(*SHAPE, dtype=dtype)}, {"slope": f.noise(1, 1, 3, dtype=dtype)}, scales={"x": parameters, "slope": (0.01, parameters[1]), "y": (0.05, parameters[1])}, tolerance=1)
    for bits in (8, 4):
        def fake(x, bits=bits):
            steps = 2**bits - 1
            scale = 6 / steps
            zero = numpy.floor(3 / scale + 0.5)
            low, high = -zero * scale, (steps - zero) * scale
            return (numpy.floor((numpy.clip(x, low, high) - low) / scale + 0.5) * scale + low).astype("f4")
        f.add("FAKE_QUANT", f"{bits} bits", {"x": x}, options=("FakeQuantOptions", {"min": -3.0, "max": 3.0, "numBits": bits, "narrowRange": False}), formula=fake, tolerance=1e-3)


PAIRS = {"ADD": (numpy.add, "AddOptions"), "SUB": (numpy.subtract, "SubOptions"), "MUL": (numpy.multiply, "MulOptions"), "DIV": (numpy.divide, "DivOptions")}
OTHERS = {"MAXIMUM": (numpy.maximum, "MaximumMinimumOptions"), "MINIMUM": (numpy.minimum, "MaximumMinimumOptions"), "POW": (numpy.power, "PowOptions"),
          "SQUARED_DIFFERENCE": (lambda x, z: (x - z) ** 2, "SquaredDifferenceOptions"), "FLOOR_DIV": (lambda x, z: numpy.floor(x / z), "FloorDivOptions"), "FLOOR_MOD": (numpy.mod, "FloorModOptions"),
          "ATAN2": (numpy.arctan2, "ATan2Options")}


def pairs(f):
    for operator, (formula, table) in PAIRS.items():
        for name, activation in ACTIVATIONS.items():
            f.add(operator, f"plain{name}", {"x": f.noise(*SHAPE), "z": f.noise(*SHAPE) + numpy.float32(3)}, options=(table, {"fusedActivationFunction": activation}),
                  formula=lambda x, z, g=formula, a=activation: activated(g(x, z), a))
        f.add(operator, "per channel", {"x": f.noise(*SHAPE)}, {"z": numpy.abs(f.noise(3)) + numpy.float32(0.5)}, options=(table, {}), formula=formula)
        f.add(operator, "both ways", {"x": f.noise(1, 6, 1, 3), "z": numpy.abs(f.noise(2, 1, 8, 1)) + numpy.float32(0.5)}, options=(table, {}), formula=formula, opened={"x": (1,)})
    for operator, (formula, table) in OTHERS.items():
        x, z = f.noise(*SHAPE) * 3, f.noise(*SHAPE)
        z = z + numpy.sign(z) * numpy.float32(0.3)
        f.add(operator, "plain", {"x": numpy.abs(x) if operator == "POW" else x, "z": z}, options=(table, {}), formula=lambda x, z, g=formula: g(x, z).astype("f4"))
        f.add(operator, "per channel", {"x": numpy.abs(x) if operator == "POW" else x}, {"z": numpy.abs(f.noise(3)) + numpy.float32(0.5)}, options=(table, {}), formula=lambda x, z, g=formula: g(x, z).astype("f4"))
    f.add("MAXIMUM", "NaN", {"x": numpy.array([[1, numpy.nan, 3]], "f4"), "z": numpy.array([[2, 2, numpy.nan]], "f4")}, options=("MaximumMinimumOptions", {}), right=NAN)
    f.add("ADD_N", "three", {"x": f.noise(*SHAPE), "z": f.noise(*SHAPE), "u": f.noise(*SHAPE)}, options=("AddNOptions", {}), formula=lambda x, z, u: x + z + u)


NAN = (None, "TF Lite does not say what the larger of a number and NaN is: the kernels differ")


def quantized_pairs(f):
    for dtype, parameters in QUANTIZED.items():
        x, z = {"x": f.noise(*SHAPE, dtype=dtype)}, f.noise(*SHAPE, dtype=dtype)
        scales = {"x": parameters, "z": (0.03, parameters[1]), "y": (0.07, parameters[1])}
        for operator in ("ADD", "SUB", "MUL"):
            for name, activation in ACTIVATIONS.items():
                f.add(operator, f"plain{name}", {**x, "z": z}, scales={**scales, "y": (0.2, parameters[1]) if operator == "MUL" else scales["y"]}, options=(PAIRS[operator][1], {"fusedActivationFunction": activation}),
                      version=2 if dtype == "i1" else 1, tolerance=1)
            f.add(operator, "per channel", x, {"z": f.noise(3, dtype=dtype)}, scales=scales, options=(PAIRS[operator][1], {}), version=2 if dtype == "i1" else 1, tolerance=1)
        f.add("SQUARED_DIFFERENCE", "plain", {**x, "z": z}, scales={**scales, "y": (0.3, parameters[1])}, options=("SquaredDifferenceOptions", {}), version=2, tolerance=1,
              formula=requantized(OTHERS["SQUARED_DIFFERENCE"][0], {**scales, "y": (0.3, parameters[1])}, dtype))
        f.add("DIV", "plain", {**x, "z": f.noise(*SHAPE, dtype=dtype, low=parameters[1] + 20)}, scales={**scales, "y": (0.1, parameters[1])}, options=("DivOptions", {}), version=2, tolerance=1)
        for operator in ("MAXIMUM", "MINIMUM"):
            same = {name: parameters for name in "xzy"}
            f.add(operator, "plain", {**x, "z": z}, scales=same, options=("MaximumMinimumOptions", {}), version=2, formula=OTHERS[operator][0])


def integers(f):
    large = f.noise(*SHAPE, dtype="i4", low=2**24, high=2**31 - 1)
    odd = f.noise(*SHAPE, dtype="i4", low=-9, high=9) * 2 + 1
    f.add("DIV", "above 2^24", {"x": large, "z": odd}, options=("DivOptions", {}), formula=lambda x, z: numpy.trunc(x.astype("f8") / z).astype("i4"))
    f.add("FLOOR_DIV", "above 2^24", {"x": large, "z": odd}, options=("FloorDivOptions", {}), formula=lambda x, z: x // z)
    f.add("FLOOR_MOD", "above 2^24", {"x": large, "z": odd}, options=("FloorModOptions", {}), formula=lambda x, z: x % z)
    f.add("FLOOR_DIV", "plain", {"x": f.noise(*SHAPE, dtype="i4"), "z": odd}, options=("FloorDivOptions", {}), formula=lambda x, z: x // z)
    f.add("FLOOR_MOD", "plain", {"x": f.noise(*SHAPE, dtype="i4"), "z": odd}, options=("FloorModOptions", {}), formula=lambda x, z: x % z)
    for operator in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"):
        formula, table = {**PAIRS, **OTHERS}[operator]
        for dtype in ("i4", "i8"):
            f.add(operator, "plain", {"x": f.noise(*SHAPE, dtype=dtype), "z": f.noise(*SHAPE, dtype=dtype)}, options=(table, {}), formula=formula)
    f.add("ADD", "above 2^24", {"x": large // 2, "z": odd}, options=("AddOptions", {}), formula=numpy.add)
    f.add("MUL", "above 2^24", {"x": f.noise(*SHAPE, dtype="i4", low=2**12, high=2**15), "z": odd * 999}, options=("MulOptions", {}), formula=numpy.multiply)
    f.add("POW", "plain", {"x": f.noise(*SHAPE, dtype="i4", low=-9, high=9), "z": f.noise(*SHAPE, dtype="i4", low=0, high=5)}, options=("PowOptions", {}), formula=numpy.power)
    for operator in ("ABS", "NEG", "SIGN"):
        f.add(operator, "plain", {"x": f.noise(*SHAPE, dtype="i4")}, options=with_options(FLOAT[operator][1]), version=4 if operator == "ABS" else 1, formula=lambda x, g=FLOAT[operator][0]: g(x))
    for dtype in ("i1", "u1", "i4"):
        f.add("BITWISE_XOR", "plain", {"x": f.noise(*SHAPE, dtype=dtype), "z": f.noise(*SHAPE, dtype=dtype)}, options=("BitwiseXorOptions", {}), formula=numpy.bitwise_xor)
        f.add("RIGHT_SHIFT", "plain", {"x": f.noise(*SHAPE, dtype=dtype), "z": f.noise(*SHAPE, dtype=dtype, low=0, high=7)}, options=("RightShiftOptions", {}), formula=numpy.right_shift)


def comparisons(f):
    for operator, (formula, table) in {"EQUAL": (numpy.equal, "EqualOptions"), "NOT_EQUAL": (numpy.not_equal, "NotEqualOptions"), "LESS": (numpy.less, "LessOptions"), "LESS_EQUAL": (numpy.less_equal, "LessEqualOptions"),
                                       "GREATER": (numpy.greater, "GreaterOptions"), "GREATER_EQUAL": (numpy.greater_equal, "GreaterEqualOptions")}.items():
        for dtype in ("f4", "i4", "i1", "u1"):
            x = f.noise(*SHAPE, dtype=dtype)
            z = numpy.where(f.noise(*SHAPE) > 0, x, f.noise(*SHAPE, dtype=dtype))
            scales = {"x": (0.05, 3), "z": (0.05, 3)} if dtype in ("i1", "u1") else None
            f.add(operator, "plain", {"x": x, "z": z}, options=(table, {}), dtypes=["bool"], formula=formula, scales=scales, version=2 if dtype == "i1" else 1)
    for operator, (formula, table) in {"LOGICAL_AND": (numpy.logical_and, "LogicalAndOptions"), "LOGICAL_OR": (numpy.logical_or, "LogicalOrOptions")}.items():
        f.add(operator, "plain", {"x": f.noise(*SHAPE, dtype="?"), "z": f.noise(*SHAPE, dtype="?")}, options=(table, {}), formula=formula)
    f.add("LOGICAL_NOT", "plain", {"x": f.noise(*SHAPE, dtype="?")}, options=("LogicalNotOptions", {}), formula=numpy.logical_not)


def conversions(f):
    for source in ("f4", "u1", "i1", "i4", "i8", "?", "f2"):
        for target in ("f4", "u1", "i1", "i4", "i8", "?"):
            if source == target or source == "f2" and target != "f4":
                continue
            low, high = (0, 120) if "u1" in (source, target) else (-120, 120)
            x = f.noise(*SHAPE, dtype="?") if source == "?" else f.noise(*SHAPE, dtype=source, low=low, high=high)
            x.flat[:2] = 0
            names = [getattr(schema.TensorType, TYPES[each]) for each in (source, target)]
            f.add("CAST", f"to {numpy.dtype(target).name}", {"x": x}, options=("CastOptions", {"inDataType": names[0], "outDataType": names[1]}), dtypes=[numpy.dtype(target).name], formula=lambda x, t=target: x.astype(t))
    for dtype, parameters in QUANTIZED.items():
        f.add("DEQUANTIZE", "plain", {"x": f.noise(*SHAPE, dtype=dtype)}, scales={"x": parameters}, options=("DequantizeOptions", {}), version=2, dtypes=["float32"], formula=lambda x, p=parameters: ((x.astype("f4") - p[1]) * numpy.float32(p[0])))
        f.add("QUANTIZE", "plain", {"x": f.noise(*SHAPE) * 5}, scales={"y": parameters}, options=("QuantizeOptions", {}), dtypes=[numpy.dtype(dtype).name], types=numpy.dtype(dtype).name, tolerance=1)
        f.add("QUANTIZE", "to another scale", {"x": f.noise(*SHAPE, dtype=dtype)}, scales={"x": parameters, "y": (0.08, parameters[1] - 3)}, options=("QuantizeOptions", {}), version=2, tolerance=1)
    f.add("QUANTIZE", "uint8 to int8", {"x": f.noise(*SHAPE, dtype="u1")}, scales={"x": (0.05, 128), "y": (0.05, 0)}, options=("QuantizeOptions", {}), version=2, dtypes=["int8"], formula=lambda x: (x.astype("i4") - 128).astype("i1"))
    f.add("DEQUANTIZE", "float16", {"x": f.noise(*SHAPE, dtype="f2")}, options=("DequantizeOptions", {}), version=3, dtypes=["float32"], formula=lambda x: x.astype("f4"))
    f.add("BITCAST", "to int32", {"x": f.noise(*SHAPE)}, options=("BitcastOptions", {}), dtypes=["int32"], formula=lambda x: x.view("i4"))


TYPES = {"f4": "FLOAT32", "f2": "FLOAT16", "u1": "UINT8", "i1": "INT8", "i4": "INT32", "i8": "INT64", "?": "BOOL"}


def choices(f):
    for dtype in ("f4", "i4", "i1", "u1"):
        x, z, c = f.noise(*SHAPE, dtype=dtype), f.noise(*SHAPE, dtype=dtype), f.noise(*SHAPE, dtype="?")
        same = {name: (0.05, 3) for name in "xzy"} if dtype in ("i1", "u1") else None
        for operator, table in (("SELECT", "SelectOptions"), ("SELECT_V2", "SelectV2Options")):
            f.add(operator, "plain", {"c": c, "x": x, "z": z}, options=(table, {}), types=numpy.dtype(dtype).name, dtypes=[numpy.dtype(dtype).name], scales=same, formula=lambda c, x, z: numpy.where(c, x, z))
    f.add("SELECT_V2", "broadcast", {"c": f.noise(1, 6, 1, 1, dtype="?"), "x": f.noise(*SHAPE)}, {"z": numpy.array([7], "f4")}, options=("SelectV2Options", {}), types="float32", dtypes=["float32"],
          formula=lambda c, x, z: numpy.where(c, x, z), opened={"x": (2,)})
    f.add("SELECT", "rows", {"c": f.noise(4, dtype="?"), "x": f.noise(4, 5), "z": f.noise(4, 5)}, options=("SelectOptions", {}), types="float32", dtypes=["float32"], formula=lambda c, x, z: numpy.where(c[:, None], x, z))

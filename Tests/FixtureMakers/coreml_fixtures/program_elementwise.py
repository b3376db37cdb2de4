"""ML Programs: Element-wise operations, comparisons, logic and types."""

import math

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder as mb
from scipy import special

from .program_cases import IOS17, as_float, case, integers, normal, uniform
from .program_oracles import sigmoid


def activations():
    x = normal(1, 4, 3, 3, scale=3)
    slope, a, b = np.float32([0.1, -0.2, 0.3, 0.5]), np.float32([1, 0.5, 2, 1]), np.float32([1, 2, 0.3, -1])
    channel = lambda v: v[None, :, None, None]

    def build(x):
        return {
            "relu_": mb.relu(x=x), "relu6_": mb.relu6(x=x), "sigmoid_": mb.sigmoid(x=x), "tanh_": mb.tanh(x=x),
            "silu_": mb.silu(x=x), "softplus_": mb.softplus(x=x), "softsign_": mb.softsign(x=x),
            "elu_": mb.elu(x=x, alpha=0.7), "leaky_": mb.leaky_relu(x=x, alpha=0.2),
            "linear_": mb.linear_activation(x=x, alpha=2.0, beta=-0.5),
            "scaled_tanh_": mb.scaled_tanh(x=x, alpha=1.7, beta=0.6),
            "sigmoid_hard_": mb.sigmoid_hard(x=x, alpha=0.3, beta=0.4),
            "thresholded_": mb.thresholded_relu(x=x, alpha=0.5),
            "clamped_": mb.clamped_relu(x=x, alpha=0.3, beta=2.0),
            "prelu_": mb.prelu(x=x, alpha=slope),
            "parametric_": mb.softplus_parametric(x=x, alpha=a, beta=b),
            "gelu_exact": mb.gelu(x=x), "gelu_tanh": mb.gelu(x=x, mode="TANH_APPROXIMATION"),
            "gelu_sigmoid": mb.gelu(x=x, mode="SIGMOID_APPROXIMATION"),
            "softmax_": mb.softmax(x=x), "softmax_channels": mb.softmax(x=x, axis=1),
        }

    def expect(x):
        return {
            "relu_": np.maximum(x, 0), "relu6_": np.clip(x, 0, 6), "sigmoid_": sigmoid(x), "tanh_": np.tanh(x),
            "silu_": x * sigmoid(x), "softplus_": np.logaddexp(0, x), "softsign_": x / (1 + np.abs(x)),
            "elu_": np.where(x > 0, x, 0.7 * np.expm1(x)), "leaky_": np.where(x >= 0, x, 0.2 * x),
            "linear_": 2 * x - 0.5, "scaled_tanh_": 1.7 * np.tanh(0.6 * x),
            "sigmoid_hard_": np.clip(0.3 * x + 0.4, 0, 1), "thresholded_": np.where(x >= 0.5, x, 0),
            "clamped_": np.minimum(2.0, np.where(x >= 0, x, 0.3 * x)),
            "prelu_": np.where(x > 0, x, channel(slope) * x),
            "parametric_": channel(a) * np.logaddexp(0, channel(b) * x),
            "gelu_exact": 0.5 * x * (1 + special.erf(x / math.sqrt(2))),
            "gelu_tanh": 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
            "gelu_sigmoid": x * sigmoid(1.702 * x),
            "softmax_": special.softmax(x, -1), "softmax_channels": special.softmax(x, 1),
        }

    case("activations", {"x": x}, build, expect)
    case("activations_ios17", {"x": x}, build, expect, opset=IOS17)

    # Numbers that are left out: coremltools 5.0, converters/mil/mil/ops/defs/activation.py, default_inputs.
    def build_defaults(x):
        return {"elu_": mb.elu(x=x, alpha=9.0), "leaky_": mb.leaky_relu(x=x, alpha=9.0),
                "linear_": mb.linear_activation(x=x, alpha=2.0, beta=9.0), "scaled_tanh_": mb.scaled_tanh(x=x, alpha=9.0, beta=9.0),
                "sigmoid_hard_": mb.sigmoid_hard(x=x, alpha=9.0, beta=9.0), "thresholded_": mb.thresholded_relu(x=x, alpha=9.0)}

    def without_numbers(model):
        spec = model.get_spec()
        function = spec.mlProgram.functions["main"]
        for operation in function.block_specializations[function.opset].operations:
            for name in ("alpha", "beta"):
                if name in operation.inputs and (operation.type, name) != ("linear_activation", "alpha"):
                    del operation.inputs[name]
        return ct.models.MLModel(spec, weights_dir=model.weights_dir, skip_model_load=True)

    def expect_defaults(x):
        return {"elu_": np.where(x > 0, x, np.expm1(x)), "leaky_": np.where(x >= 0, x, 0.01 * x), "linear_": 2 * x, "scaled_tanh_": np.tanh(x),
                "sigmoid_hard_": np.clip(0.2 * x + 0.5, 0, 1), "thresholded_": np.where(x >= 1, x, 0)}

    case("activations_without_numbers", {"x": x}, build_defaults, expect_defaults, change=without_numbers)


def unary():
    x, p, u = normal(2, 5, scale=2), uniform(2, 5, low=0.3, high=4), uniform(2, 5, low=-0.9, high=0.9, seed=3)

    def build(x, p, u):
        return {
            "abs_": mb.abs(x=x), "acos_": mb.acos(x=u), "asin_": mb.asin(x=u), "atan_": mb.atan(x=x),
            "atanh_": mb.atanh(x=u), "ceil_": mb.ceil(x=x), "clip_": mb.clip(x=x, alpha=-1.0, beta=0.8),
            "cos_": mb.cos(x=x), "cosh_": mb.cosh(x=x), "erf_": mb.erf(x=x), "exp_": mb.exp(x=x), "exp2_": mb.exp2(x=x),
            "floor_": mb.floor(x=x), "inverse_": mb.inverse(x=p), "inverse_eps": mb.inverse(x=p, epsilon=0.5),
            "log_": mb.log(x=p), "log_eps": mb.log(x=p, epsilon=0.25), "round_": mb.round(x=x),
            "rsqrt_": mb.rsqrt(x=p), "rsqrt_eps": mb.rsqrt(x=p, epsilon=0.5), "sign_": mb.sign(x=x),
            "sin_": mb.sin(x=x), "sinh_": mb.sinh(x=x), "sqrt_": mb.sqrt(x=p), "square_": mb.square(x=x),
            "tan_": mb.tan(x=u), "threshold_": mb.threshold(x=x, alpha=0.25),
            "not_": as_float(mb.logical_not(x=mb.greater(x=x, y=0.0))), "identity_": mb.identity(x=x),
        }

    def expect(x, p, u):
        return {
            "abs_": np.abs(x), "acos_": np.arccos(u), "asin_": np.arcsin(u), "atan_": np.arctan(x),
            "atanh_": np.arctanh(u), "ceil_": np.ceil(x), "clip_": np.clip(x, -1, 0.8),
            "cos_": np.cos(x), "cosh_": np.cosh(x), "erf_": special.erf(x), "exp_": np.exp(x), "exp2_": np.exp2(x),
            "floor_": np.floor(x), "inverse_": 1 / (p + 1e-4), "inverse_eps": 1 / (p + 0.5),
            "log_": np.log(p), "log_eps": np.log(p + 0.25), "round_": np.round(x),
            "rsqrt_": 1 / np.sqrt(p + 1e-12), "rsqrt_eps": 1 / np.sqrt(p + 0.5), "sign_": np.sign(x),
            "sin_": np.sin(x), "sinh_": np.sinh(x), "sqrt_": np.sqrt(p), "square_": x * x,
            "tan_": np.tan(u), "threshold_": np.maximum(x, 0.25),
            "not_": (x <= 0).astype(np.float32), "identity_": x,
        }

    inputs = {"x": x, "p": p, "u": u}
    inputs["x"][0, :3] = [0.5, 1.5, 0.0]
    case("unary", inputs, build, expect)
    case("unary_ios17", inputs, build, expect, opset=IOS17)


def casts():
    x, n = np.float32([[-2.7, -0.4, 0.0, 0.6, 3.9]]), np.int32([[-3, 0, 1, 2, 70000]])

    def build(x, n):
        return {
            "to_int": mb.cast(x=x, dtype="int32"), "to_half": mb.cast(x=mb.cast(x=x, dtype="fp16"), dtype="fp32"),
            "to_bool": as_float(mb.cast(x=x, dtype="bool")), "int_to_float": mb.cast(x=n, dtype="fp32"),
            "int_to_bool": mb.cast(x=mb.cast(x=n, dtype="bool"), dtype="int32"),
        }

    def expect(x, n):
        return {
            "to_int": x.astype(np.int32), "to_half": x, "to_bool": (x != 0).astype(np.float32),
            "int_to_float": n.astype(np.float32), "int_to_bool": (n != 0).astype(np.int32),
        }

    case("cast", {"x": x, "n": n}, build, expect, tolerance=1e-3)

    def build17(n):
        small = mb.clip(x=mb.cast(x=n, dtype="fp32"), alpha=0.0, beta=100.0)
        return {f"to_{kind}": mb.cast(x=mb.cast(x=small, dtype=kind), dtype="int32") for kind in ["int8", "uint8", "int16", "uint16"]}

    case("cast_ios17", {"n": n}, build17, lambda n: {f"to_{k}": np.clip(n, 0, 100) for k in ["int8", "uint8", "int16", "uint16"]}, opset=IOS17)


def binary():
    x, y = normal(2, 3, 4, scale=3), normal(3, 1, seed=2, scale=2)
    p = uniform(2, 3, 4, low=0.2, high=3, seed=4)
    n, m = integers(2, 3, seed=5, low=-9, high=10), np.int32([[2, -3, 4]])

    def build(x, y, p, n, m):
        floats = {
            "add_": mb.add(x=x, y=y), "sub_": mb.sub(x=x, y=y), "mul_": mb.mul(x=x, y=y), "real_div_": mb.real_div(x=x, y=y),
            "floor_div_": mb.floor_div(x=x, y=y), "mod_": mb.mod(x=x, y=y), "pow_": mb.pow(x=p, y=y),
            "pow_scalar": mb.pow(x=x, y=2.0),
            "maximum_": mb.maximum(x=x, y=y), "minimum_": mb.minimum(x=x, y=y), "scalar": mb.sub(x=1.0, y=x),
        }
        ints = {
            "int_add": mb.add(x=n, y=m), "int_sub": mb.sub(x=n, y=m), "int_mul": mb.mul(x=n, y=m),
            "int_floor_div": mb.floor_div(x=n, y=m), "int_mod": mb.mod(x=n, y=m), "int_max": mb.maximum(x=n, y=m),
            "int_min": mb.minimum(x=n, y=m), "int_abs": mb.abs(x=n), "int_sign": mb.sign(x=n), "int_square": mb.square(x=n),
        }
        return floats | ints

    def expect(x, y, p, n, m):
        return {
            "add_": x + y, "sub_": x - y, "mul_": x * y, "real_div_": x / y, "floor_div_": np.floor(x / y),
            "mod_": np.mod(x, y), "pow_": p**y, "pow_scalar": x**2, "maximum_": np.maximum(x, y),
            "minimum_": np.minimum(x, y), "scalar": 1 - x,
            "int_add": n + m, "int_sub": n - m, "int_mul": n * m, "int_floor_div": n // m, "int_mod": n % m,
            "int_max": np.maximum(n, m), "int_min": np.minimum(n, m), "int_abs": np.abs(n), "int_sign": np.sign(n),
            "int_square": n * n,
        }

    case("binary", {"x": x, "y": y, "p": p, "n": n, "m": m}, build, expect)


def logic():
    x, y, n = normal(2, 4), normal(4, seed=2), np.int32([[1, 2, 3, 4], [4, 3, 2, 1]])
    x[0, 1] = y[1]

    def build(x, y, n):
        a, b = mb.greater(x=x, y=0.0), mb.less(x=y, y=0.5)
        found = {
            "equal_": mb.equal(x=x, y=y), "not_equal_": mb.not_equal(x=x, y=y), "greater_": mb.greater(x=x, y=y),
            "greater_equal_": mb.greater_equal(x=x, y=y), "less_": mb.less(x=x, y=y), "less_equal_": mb.less_equal(x=x, y=y),
            "and_": mb.logical_and(x=a, y=b), "or_": mb.logical_or(x=a, y=b), "xor_": mb.logical_xor(x=a, y=b),
            "int_greater": mb.greater(x=n, y=2),
        }
        found = {name: as_float(value) for name, value in found.items()}
        found["select_"] = mb.select(cond=a, a=x, b=y)
        found["select_int"] = mb.select(cond=mb.less(x=n, y=3), a=n, b=mb.const(val=np.int32(0)))
        return found

    def expect(x, y, n):
        a, b = x > 0, y < 0.5
        found = {
            "equal_": x == y, "not_equal_": x != y, "greater_": x > y, "greater_equal_": x >= y, "less_": x < y,
            "less_equal_": x <= y, "and_": a & b, "or_": a | b, "xor_": a ^ b, "int_greater": n > 2,
        }
        found = {name: value.astype(np.float32) for name, value in found.items()}
        return found | {"select_": np.where(a, x, y), "select_int": np.where(n < 3, n, 0)}

    case("logic", {"x": x, "y": y, "n": n}, build, expect)


FAMILIES = [activations, unary, casts, binary, logic]

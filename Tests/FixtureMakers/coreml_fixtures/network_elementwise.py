"""Neural networks: layers that compute element by element, and reductions."""
import numpy as np

from .network_formulas import sigmoid
from .network_values import F, values


def elementwise(old, exact):
    a, b, c = values("ea", 3, 2, 4), values("eb", 3, 1, 1), values("ec", 1, 2, 4)
    functions = {
        "add": ("ADD", a + b + c), "multiply": ("MULTIPLY", a * b * c), "average": ("AVE", (a + b + c) / 3),
        "max": ("MAX", np.maximum(np.maximum(a, b), c)), "min": ("MIN", np.minimum(np.minimum(a, b), c)),
    }
    for name, (mode, y) in functions.items():
        old(name, [name], {"a": a, "b": b, "c": c}, {"y": y},
            lambda builder: builder.add_elementwise("e", ["a", "b", "c"], "y", mode))
    old("add-one", ["add"], {"a": a}, {"y": a + F(1.5)}, lambda builder: builder.add_elementwise("e", ["a"], "y", "ADD", 1.5))
    old("multiply-one", ["multiply"], {"a": a}, {"y": a * F(1.5)},
        lambda builder: builder.add_elementwise("e", ["a"], "y", "MULTIPLY", 1.5))
    left, right = values("eleft", 2, 3, 4), values("eright", 3, 1, low=0.5, high=2.5)
    positive = np.abs(left) + F(0.1)
    broadcasting = {
        "add": (left, left + right), "subtract": (left, left - right), "multiply": (left, left * right),
        "divide": (left, left / right), "floor_div": (left, np.floor(left / right)), "mod": (left, np.mod(left, right)),
        "max": (left, np.maximum(left, right)), "min": (left, np.minimum(left, right)), "pow": (positive, positive**right),
    }
    for name, (first, y) in broadcasting.items():
        words = "".join(word.capitalize() for word in name.split("_"))
        exact(f"{name.replace('_', '-')}-broadcastable", [words[0].lower() + words[1:] + "Broadcastable"],
              {"a": first, "b": right}, {"y": y},
              lambda builder: getattr(builder, f"add_{name}_broadcastable")("e", ["a", "b"], "y"))
    whole, other = np.round(left), np.round(values("ecompare", 3, 4))
    comparisons = {
        "equal": np.equal, "not_equal": np.not_equal, "less_than": np.less, "less_equal": np.less_equal,
        "greater_than": np.greater, "greater_equal": np.greater_equal,
    }
    for name, function in comparisons.items():
        words = name.split("_")
        method = {"less_equal": "less_than", "greater_equal": "greater_than"}.get(name, name)
        options = {"less_equal": {"use_less_than_equal": True}, "greater_equal": {"use_greater_than_equal": True}}.get(name, {})
        cover = words[0] + "".join(word.capitalize() for word in words[1:])
        exact(name.replace("_", "-"), [cover], {"a": whole, "b": other}, {"y": function(whole, other).astype(F)},
              lambda builder: getattr(builder, f"add_{method}")("e", ["a", "b"], "y", **options), tolerance=0)
        exact(f"{name.replace('_', '-')}-alpha", [cover], {"a": whole}, {"y": function(whole, 1).astype(F)},
              lambda builder: getattr(builder, f"add_{method}")("e", ["a"], "y", alpha=1.0, **options), tolerance=0)
    yes, no = (whole > 0).astype(F), (other > 0).astype(F)
    logic = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}
    for name, function in logic.items():
        exact(f"logical-{name.lower()}", [f"logical{name.capitalize()}"], {"a": yes, "b": no}, {"y": function(yes, no).astype(F)},
              lambda builder: builder.add_logical("e", ["a", "b"], "y", name), tolerance=0)
    exact("logical-not", ["logicalNot"], {"a": yes}, {"y": np.logical_not(yes).astype(F)},
          lambda builder: builder.add_logical("e", ["a"], "y", "NOT"), tolerance=0)
    exact("where", ["whereBroadcastable"], {"a": yes, "b": left, "c": right}, {"y": np.where(yes, left, right)},
          lambda builder: builder.add_where_broadcastable("e", ["a", "b", "c"], "y"))


def unary(old, exact):
    x = values("unary", 2, 3, 2, low=0.3, high=2.5)
    t = F(1.5) * x + F(0.25)
    modes = {
        "sqrt": np.sqrt(t), "rsqrt": 1 / np.sqrt(t + F(1e-3)), "inverse": 1 / (t + F(1e-3)), "power": t**F(2.5),
        "exp": np.exp(t), "log": np.log(t + F(1e-3)), "abs": np.abs(t), "threshold": np.maximum(F(2.5), t),
    }
    for name, y in modes.items():
        old(f"unary-{name}", [f"unary ({name})"], {"x": x}, {"y": y},
            lambda builder: builder.add_unary("u", "x", "y", name, alpha=2.5, shift=0.25, scale=1.5, epsilon=1e-3))
    signed, unit, above = values("unarys", 2, 5), values("unaryu", 2, 5, low=-0.9, high=0.9), values("unarya", 2, 5, low=1.1, high=4)
    from math import erf

    functions = {
        "ceil": (signed, np.ceil), "floor": (signed, np.floor), "sign": (signed, np.sign), "round": (signed, np.round),
        "exp2": (signed, np.exp2), "sin": (signed, np.sin), "cos": (signed, np.cos), "tan": (unit, np.tan),
        "asin": (unit, np.arcsin), "acos": (unit, np.arccos), "atan": (signed, np.arctan), "sinh": (signed, np.sinh),
        "cosh": (signed, np.cosh), "tanh": (signed, np.tanh), "asinh": (signed, np.arcsinh), "acosh": (above, np.arccosh),
        "atanh": (unit, np.arctanh), "erf": (signed, np.vectorize(erf)),
    }
    for name, (given, function) in functions.items():
        exact(name, [name], {"x": given}, {"y": function(given).astype(F)},
              lambda builder: getattr(builder, f"add_{name}")("u", "x", "y"))
    gelus = {
        "EXACT": 0.5 * signed * (1 + np.vectorize(erf)(signed / np.sqrt(2))),
        "TANH_APPROXIMATION": 0.5 * signed * (1 + np.tanh(np.sqrt(2 / np.pi) * (signed + 0.044715 * signed**3))),
        "SIGMOID_APPROXIMATION": signed * sigmoid(1.702 * signed),
    }
    for mode, y in gelus.items():
        exact(f"gelu-{mode.split('_')[0].lower()}", ["gelu"], {"x": signed}, {"y": y.astype(F)},
              lambda builder: builder.add_gelu("u", "x", "y", mode))
    exact("clip", ["clip"], {"x": signed}, {"y": np.clip(signed, F(-0.5), F(1.25))},
          lambda builder: builder.add_clip("u", "x", "y", -0.5, 1.25))
    exact("clamped-relu", ["clampedReLU"], {"x": signed},
          {"y": np.minimum(np.where(signed < 0, F(0.25) * signed, signed), F(1.25))},
          lambda builder: builder.add_clamped_relu("u", "x", "y", 0.25, 1.25))
    old("copy", ["copy"], {"x": x}, {"y": x}, lambda builder: (
        builder.add_activation("u", "LINEAR", "x", "z", [1, 0]), builder.add_copy("c", "z", "y")))


def reductions(old, exact):
    x = values("reduce", 3, 2, 4, low=0.2, high=2)
    def logsum(v, **k): return np.log(v + F(1e-6)).sum(**k)
    modes = {
        "sum": np.sum, "avg": np.mean, "prod": np.prod, "logsum": logsum, "sumsquare": lambda v, **k: (v * v).sum(**k),
        "L1": lambda v, **k: np.abs(v).sum(**k), "L2": lambda v, **k: np.sqrt((v * v).sum(**k)), "max": np.max, "min": np.min,
    }
    axes = {"CHW": (0, 1, 2), "HW": (1, 2), "C": (0,), "H": (1,), "W": (2,)}
    for mode, function in modes.items():
        for text, axis in axes.items():
            if mode not in ("sum", "max") and text not in ("HW",):
                continue
            y = function(x, axis=axis, keepdims=True)
            y = y.reshape(y.shape[:1]) if y.shape[1:] == (1, 1) else y[..., 0] if y.shape[2] == 1 else y
            old(f"reduce-{mode.lower()}-{text.lower()}", ["reduce"], {"x": x}, {"y": y},
                lambda builder: builder.add_reduce("r", "x", "y", text, mode))
    old("reduce-argmax-w", ["reduce"], {"x": x}, {"y": np.argmax(x, 2).astype(F)},
        lambda builder: builder.add_reduce("r", "x", "y", "W", "argmax"))
    signed = values("reducend", 2, 3, 4)
    functions = {
        "l1": (signed, modes["L1"]), "l2": (signed, modes["L2"]), "max": (signed, np.max), "min": (signed, np.min),
        "sum": (signed, np.sum), "prod": (signed, np.prod), "mean": (signed, np.mean),
        "logsum": (x, lambda v, **k: np.log(v.sum(**k))), "sumsquare": (signed, modes["sumsquare"]),
        "logsumexp": (signed, lambda v, **k: np.log(np.exp(v).sum(**k))),
    }
    covers = {"logsum": "reduceLogSum", "sumsquare": "reduceSumSquare", "logsumexp": "reduceLogSumExp"}
    for name, (given, function) in functions.items():
        cover = covers.get(name, "reduce" + name.capitalize())
        exact(f"reduce-nd-{name}", [cover], {"x": given}, {"y": function(given, axis=(0, 2))},
              lambda builder: getattr(builder, f"add_reduce_{name}")("r", "x", "y", axes=[0, -1], keepdims=False))
        exact(f"reduce-nd-{name}-all", [cover], {"x": given}, {"y": function(given, axis=(0, 1, 2), keepdims=True)},
              lambda builder: getattr(builder, f"add_reduce_{name}")("r", "x", "y", keepdims=True, reduce_all=True))

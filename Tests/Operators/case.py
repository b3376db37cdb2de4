"""A case of the matrix: a model of one operator, its inputs, and the right outputs by independent programs."""

import dataclasses
import functools
import re
import zlib
from collections.abc import Callable

import numpy

# The greatest difference of an answer that counts as right: of floating-point numbers a share of the output's range, of integers steps.
FLOAT, HALF, EXACT, STEP, STEPS = 1e-4, 3e-3, 0, 1, 2


@dataclasses.dataclass(eq=False)
class Case:
    """`axes`: "fixed", or those that the file leaves open. `truths`: the outputs by the name of the program that computed them; a program
    that cannot run the model has no entry. `tolerance`: None takes that of each output's type. `right`: where two programs disagree, the one that counts, or None
    where either does, and the reason."""

    format: str
    operator: str
    variant: str
    types: str
    axes: str
    make: Callable[[], bytes]
    inputs: dict[str, numpy.ndarray]
    outputs: list[str]
    run: Callable
    tolerance: float | None = None
    right: tuple[str | None, str] | None = None
    # Members of outputs that no program defines: an index of the output and the number of valid leading elements is in another output.
    counted: dict[int, int] = dataclasses.field(default_factory=dict)
    # The operators of the model, where there are several.
    covers: set[str] = dataclasses.field(default_factory=set)
    truths: dict[str, list[numpy.ndarray]] = dataclasses.field(default_factory=dict)
    refusals: dict[str, str] = dataclasses.field(default_factory=dict)
    formula: Callable | None = None

    @property
    def key(self):
        """Names the case in the table."""
        return (self.format, self.operator, self.variant, self.types, self.axes)

    @property
    def name(self):
        """The model's name: that of its file, and in addresses."""
        words = re.sub(r"[^a-z0-9]+", "-", " ".join(self.key[1:]).lower()).strip("-")
        return f"{words[:80]}-{zlib.crc32(repr(self.key).encode()):08x}"

    @functools.cached_property
    def model(self):
        """The model's file."""
        return self.make()

    @property
    def depends(self):
        """True if the outcome may depend on the processor: sums of products of bytes saturate where it lacks VNNI."""
        products = re.search("conv|matmul|connected", self.operator, re.IGNORECASE)
        return bool(products) and (self.types in ("int8", "uint8") or "Integer" in self.operator)

    def compute(self):
        """Asks the independent programs."""
        self.truths, self.refusals = self.run(self)
        for name, outputs in self.truths.items():
            self.truths[name] = [self.valid(number, outputs) for number in range(len(outputs))]

    def valid(self, number, outputs):
        """The part of an output that has a meaning: of lists of fixed length with a counter the counted entries."""
        if number not in self.counted:
            return outputs[number]
        return outputs[number][: int(numpy.ravel(outputs[self.counted[number]])[0])]

    def dispute(self):
        """The greatest difference between two programs, in tolerances; 0 if fewer than two ran the model."""
        truths = list(self.truths.values())
        return max((difference(a, b, self.tolerance) for a, b in zip(truths, truths[1:])), default=0)

    def excess(self, answer):
        """The difference of an answer from the truth, in tolerances: right up to 1."""
        answer = [self.valid(number, answer) for number in range(len(answer))]
        counted = [self.truths[self.right[0]]] if self.right and self.right[0] else self.truths.values()
        return min(difference(truth, answer, self.tolerance) for truth in counted)


class Collection:
    """Collects the cases of one module; its numbers come from one generator, so that each run makes the same."""

    def __init__(self, seed, opened_types=None):
        """`opened_types`: those that cases with open axes have too; by default all."""
        self.random = numpy.random.default_rng(seed)
        self.opened_types = opened_types
        self.cases = []

    def kinds(self, types, axes):
        """Which of the files with fixed and with open axes a case of these types has."""
        return [kind for kind in axes if kind == "fixed" or not self.opened_types or types in self.opened_types]

    def noise(self, *shape, dtype="f4", low=None, high=None):
        dtype = numpy.dtype(dtype)
        if dtype.kind == "f" and low is None:
            return self.random.normal(size=shape).astype(dtype)
        if dtype.kind == "f":
            return self.random.uniform(low, high, shape).astype(dtype)
        if dtype.kind == "b":
            return self.random.random(shape) < 0.5
        limits = numpy.iinfo(dtype) if dtype.itemsize == 1 else None
        low = low if low is not None else limits.min if limits else -100
        high = high if high is not None else limits.max if limits else 100
        return self.random.integers(low, high, shape, endpoint=True).astype(dtype)


def axis_word(rank, axis, is_side):
    """An open axis of an input, in words."""
    return ("height and width" if is_side else "batch" if axis == 0 else "channels") if rank in (4, 5) else f"axis {axis}"


def tolerance_of(array):
    return {"f": FLOAT, "V": HALF}.get(array.dtype.kind, EXACT) if array.dtype.itemsize > 2 else HALF if array.dtype.kind in "fV" else EXACT


def difference(truth, answer, tolerance=None):
    """The greatest difference of two lists of outputs in tolerances; infinite for another number, shape or type."""
    if len(truth) != len(answer):
        return float("inf")
    return max((array_difference(a, b, tolerance) for a, b in zip(truth, answer)), default=0)


def array_difference(truth, answer, tolerance):
    if truth.shape != answer.shape or truth.dtype != answer.dtype:
        return float("inf")
    if truth.size == 0:
        return 0
    allowed = tolerance_of(truth) if tolerance is None else tolerance
    if truth.dtype.kind not in "fV":
        far = numpy.abs(truth.astype("i8") - answer.astype("i8")).max()
        return float(far / allowed) if allowed else float(far) * 2
    truth, answer = truth.astype("f8"), answer.astype("f8")
    defined = numpy.isfinite(truth)
    if not numpy.array_equal(truth[~defined], answer[~defined], equal_nan=True) or not numpy.isfinite(answer[defined]).all():
        return float("inf")
    if not defined.any():
        return 0
    values = truth[defined]
    span, size = values.max() - values.min(), numpy.abs(values).max()
    scale = span if span > 1e-3 * size else size
    return float(numpy.abs(values - answer[defined]).max() / (allowed * max(scale, 1e-30)))

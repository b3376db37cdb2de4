"""Recurrent layers as coremltools writes those of TensorFlow: a loop over a list of the steps, for programs and networks."""

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program

from .program_cases import normal
from .program_oracles import lstm_steps

STEPS, INPUTS, HIDDEN = 90, 3, 2
X = normal(1, STEPS, INPUTS, seed=31)
# Rows of the gates i, f, o, z, as the formula has them.
WI, WH = normal(4 * HIDDEN, INPUTS, seed=32, scale=0.5), normal(4 * HIDDEN, HIDDEN, seed=33, scale=0.5)
BIAS = normal(4 * HIDDEN, seed=34, scale=0.3)


def build(x, whole):
    """The last state, or with `whole` those of all steps."""
    wi, wh = np.ascontiguousarray(WI.T), np.ascontiguousarray(WH.T)
    steps = mb.make_list(init_length=STEPS, elem_shape=(1, INPUTS), dtype="fp32")
    steps = mb.list_scatter(ls=steps, indices=np.arange(STEPS, dtype=np.int32), value=mb.transpose(x=x, perm=[1, 0, 2]))
    length = STEPS if whole else 1
    found = mb.make_list(init_length=length, elem_shape=(1, HIDDEN), dtype="fp32")

    def goes_on(i, found, h, c):
        return mb.less(x=i, y=STEPS)

    def step(i, found, h, c):
        row = mb.list_read(ls=steps, index=i)
        sums = mb.add(x=mb.add(x=mb.matmul(x=row, y=wi), y=mb.matmul(x=h, y=wh)), y=BIAS)
        inner, forget, outer, block = mb.split(x=sums, num_splits=4, axis=1)
        kept = mb.mul(x=mb.sigmoid(x=forget), y=c)
        c = mb.add(x=kept, y=mb.mul(x=mb.sigmoid(x=inner), y=mb.tanh(x=block)))
        h = mb.mul(x=mb.sigmoid(x=outer), y=mb.tanh(x=c))
        return mb.add(x=i, y=1), mb.list_write(ls=found, index=i if whole else 0, value=h), h, c

    start = np.zeros((1, HIDDEN), np.float32)
    i, found, h, c = mb.while_loop(_cond=goes_on, _body=step, loop_vars=(np.int32(0), found, start, start))
    return {"states": mb.list_gather(ls=found, indices=np.arange(length, dtype=np.int32)), "c": c}


def expect(x, whole):
    start = np.zeros((1, HIDDEN), np.float32)
    states, _, c = lstm_steps(x.transpose(1, 0, 2), start, start, WI, WH, BIAS)
    return {"states": states if whole else states[-1:], "c": c}


def networks(fixtures):
    """The same as networks with a `loop` layer."""
    for whole in (False, True):
        program = Program()
        with Function({"x": mb.placeholder(shape=X.shape)}) as function:
            function.set_outputs([mb.identity(x=value, name=name) for name, value in build(function.inputs["x"], whole).items()])
            program.add_function("main", function)
        spec = ct.convert(program, convert_to="neuralnetwork").get_spec()
        spec.description.metadata.userDefined.clear()
        fixtures.add(f"loop-lstm-{'states' if whole else 'last'}", spec, [({"x": X}, expect(X, whole))], ["loop"])

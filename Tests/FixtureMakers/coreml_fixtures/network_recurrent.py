"""Neural networks: recurrent layers, and weights in fewer bits."""
import numpy as np
from coremltools.models import datatypes
from coremltools.models.neural_network import NeuralNetworkBuilder

from .harness import random
from .network_formulas import gru, lstm, sigmoid, simple_rnn
from .network_values import F, values


def recurrent(old):
    """The sequence is made of an array [C, H, W] = [I, 1, S] by a permutation: [S, 1, I, 1, 1]."""
    steps, inputs, hidden = 4, 3, 2

    def layer(name, covers, y, add, **options):
        x = values(name, inputs, 1, steps)
        def build(builder):
            builder.add_permute("permute", [3, 1, 2, 0], "x", "s")
            add(builder)
        old(name, covers, {"x": x}, {"y": y(x[:, 0].T.astype(np.float64)).astype(F)}, build, **options)

    def w(name, *shape): return values(name, *shape, low=-1, high=1)

    names = {"SIGMOID": sigmoid, "TANH": np.tanh, "RELU": lambda v: np.maximum(v, 0), "LINEAR": lambda v: v,
             "SIGMOID_HARD": lambda v: np.clip(0.2 * v + 0.5, 0, 1),
             # Without numbers: coremltools' own test_recurrent.py.
             "SCALED_TANH": np.tanh}
    def sequence(v): return v[:, None, :]

    for activation, backward, all_steps in (("SCALED_TANH", False, True), ("TANH", False, True), ("RELU", True, False), ("SIGMOID_HARD", True, True),
                                            ("TANH", False, False)):
        text = f"{activation.lower().replace('_', '-')}{'-reverse' if backward else ''}{'-sequence' if all_steps else ''}"
        wx, wh, b = w("rx" + text, hidden, inputs), w("rh" + text, hidden, hidden), w("rb" + text, hidden)
        def y(x): 
            h = simple_rnn(x[::-1] if backward else x, wx, wh, b, names[activation])
            return sequence(h) if all_steps else h[-1]
        layer(f"simple-rnn-{text}", ["simpleRecurrent"], y,
              lambda builder: builder.add_simple_rnn(
                  "rnn", wh, wx, b, hidden, inputs, activation, ["s"], ["y"], output_all=all_steps, reverse_input=backward))
    for inner, outer, backward, all_steps in (("SIGMOID", "TANH", False, True), ("LINEAR", "SCALED_TANH", True, True), ("SIGMOID_HARD", "TANH", True, True),
                                              ("SIGMOID", "TANH", True, False), ("SIGMOID", "RELU", False, False)):
        text = f"{inner.lower().replace('_', '-')}-{outer.lower()}{'-reverse' if backward else ''}{'-sequence' if all_steps else ''}"
        wx, wh, b = [[w(f"g{k}{i}{text}", *shape) for i in range(3)]
                     for k, shape in (("x", (hidden, inputs)), ("h", (hidden, hidden)), ("b", (hidden,)))]
        def y(x):
            h = gru(x[::-1] if backward else x, wx, wh, b, names[inner], names[outer])
            return sequence(h) if all_steps else h[-1]
        layer(f"gru-{text}", ["gru"], y,
              lambda builder: builder.add_gru("gru", wh, wx, b, hidden, inputs, ["s"], ["y"], outer, inner, all_steps, backward))
    variants = {
        "plain-sequence": dict(output_all=True), "plain-last": {}, "reverse-sequence": dict(output_all=True, reverse_input=True),
        "forget-bias": dict(forget_bias=True), "peephole": dict(peep=True, output_all=True),
        "coupled": dict(coupled_input_forget_gate=True), "cell-clip": dict(cell_clip_threshold=0.2, output_all=True),
        "linear": dict(cell_state_update_activation="SCALED_TANH", output_activation="LINEAR", output_all=True),
        "activations": dict(inner_activation="SIGMOID_HARD", cell_state_update_activation="RELU", output_activation="SCALED_TANH",
                            output_all=True),
    }
    for name, options in variants.items():
        wx, wh, b, peep = [[w(f"l{k}{i}{name}", *shape) for i in range(4)] for k, shape in
                           (("x", (hidden, inputs)), ("h", (hidden, hidden)), ("b", (hidden,)), ("p", (hidden,)))]
        def y(x):
            h, _ = lstm(x[::-1] if options.get("reverse_input") else x, wx, wh, b,
                        names[options.get("inner_activation", "SIGMOID")],
                        names[options.get("cell_state_update_activation", "TANH")],
                        names[options.get("output_activation", "TANH")],
                        peep=peep[:3] if "peep" in options else None, forget_bias=options.get("forget_bias", False),
                        coupled=options.get("coupled_input_forget_gate", False), clip=options.get("cell_clip_threshold", 50))
            return sequence(h) if options.get("output_all") else h[-1]
        given = dict(options)
        given.setdefault("cell_clip_threshold", 50.0)
        if "peep" in given:
            given["peep"] = peep[:3]
        # The builder takes the gates in the order i, f, o, z.
        def order(parts): return [parts[0], parts[1], parts[3], parts[2]]
        layer(f"lstm-{name}", ["uniDirectionalLSTM"], y,
              lambda builder: builder.add_unilstm("lstm", order(wh), order(wx), order(b), hidden, inputs, ["s"], ["y"], **given))
    # More steps than the cell's limit (50), which the engine's own operation does not have.
    long = values("lstm-long", inputs, 1, 80)
    ahead, _ = lstm(long[:, 0].T.astype(np.float64), wx, wh, b, sigmoid, np.tanh, np.tanh)
    def long_lstm(builder):
        builder.add_permute("permute", [3, 1, 2, 0], "x", "s")
        def order(parts): return [parts[0], parts[1], parts[3], parts[2]]
        builder.add_unilstm("lstm", order(wh), order(wx), order(b), hidden, inputs, ["s"], ["y"], output_all=True, cell_clip_threshold=50.0)
    old("lstm-long", ["uniDirectionalLSTM"], {"x": long}, {"y": sequence(ahead).astype(F)}, long_lstm)
    wx, wh, b = [[w(f"s{k}{i}", *shape) for i in range(4)] for k, shape in
                 (("x", (hidden, inputs)), ("h", (hidden, hidden)), ("b", (hidden,)))]
    def order(parts): return [parts[0], parts[1], parts[3], parts[2]]
    x, h0, c0 = values("lstm-state", inputs), values("lstm-h", hidden), values("lstm-c", hidden)
    hs, cs = lstm(x[None].astype(np.float64), wx, wh, b, sigmoid, np.tanh, np.tanh, h=h0, c=c0)
    old("lstm-state", ["uniDirectionalLSTM"], {"x": x, "hin": h0, "cin": c0},
        {"y": hs[-1].astype(F), "hout": hs[-1].astype(F), "cout": cs[-1].astype(F)},
        lambda builder: builder.add_unilstm(
            "lstm", order(wh), order(wx), order(b), hidden, inputs, ["x", "hin", "cin"], ["y", "hout", "cout"],
            cell_clip_threshold=50.0))
    gx, gh, gb = [[w(f"t{k}{i}", *shape) for i in range(4)] for k, shape in
                  (("x", (hidden, inputs)), ("h", (hidden, hidden)), ("b", (hidden,)))]
    for all_steps in (False, True):
        def y(x):
            ahead, _ = lstm(x, wx, wh, b, sigmoid, np.tanh, np.tanh)
            back, _ = lstm(x[::-1], gx, gh, gb, sigmoid, np.tanh, np.tanh)
            if all_steps:
                return sequence(np.concatenate([ahead, back[::-1]], 1))
            return np.concatenate([ahead[-1], back[-1]])
        layer(f"bi-lstm{'-sequence' if all_steps else ''}", ["biDirectionalLSTM"], y,
              lambda builder: builder.add_bidirlstm(
                  "lstm", order(wh), order(wx), order(b), order(gh), order(gx), order(gb), hidden, inputs, ["s"], ["y"],
                  output_all=all_steps, cell_clip_threshold=50.0))


def sequences(fixtures):
    """As Keras' models were exported until 2020: the description says [C], one step, and a request has as many as it likes: [Seq, 1, C]."""
    inputs, hidden = 3, 2

    def w(name, *shape): return values("steps" + name, *shape, low=-1, high=1)
    def gates(name, count, columns=inputs):
        return [[w(f"{name}{k}{i}", *shape) for i in range(count)] for k, shape in
                (("x", (hidden, columns)), ("h", (hidden, hidden)), ("b", (hidden,)))]
    def order(parts): return [parts[0], parts[1], parts[3], parts[2]]

    def add(name, covers, declared, cases, build):
        builder = NeuralNetworkBuilder(
            [(key, datatypes.Array(*shape)) for key, shape in declared.items()], [(key, None) for key in cases[0][1]],
            use_float_arraytype=True)
        build(builder)
        for feature in builder.spec.description.output:
            feature.type.multiArrayType.dataType = 65568
        fixtures.add(f"steps-{name}", builder.spec, cases, covers)

    def run(name, covers, formula, build, width=inputs):
        cases = []
        for steps in (5, 1, 60):
            x = values(f"steps-{name}{steps}", steps, 1, width)
            cases.append(({"x": x}, {"y": formula(x[:, 0].astype(np.float64)).astype(F)}))
        add(name, covers, {"x": (width,)}, cases, build)

    wx, wh, b = gates("lstm", 4)
    dense = w("dense", 2, hidden)
    run("lstm", ["uniDirectionalLSTM"], lambda x: lstm(x, wx, wh, b, sigmoid, np.tanh, np.tanh)[0][:, None],
        lambda builder: builder.add_unilstm("lstm", order(wh), order(wx), order(b), hidden, inputs, ["x"], ["y"], output_all=True,
                                            cell_clip_threshold=50000.0))
    def stacked(builder):
        builder.add_unilstm("lstm", order(wh), order(wx), order(b), hidden, inputs, ["x"], ["h"], reverse_input=True, cell_clip_threshold=50000.0)
        builder.add_inner_product("dense", dense, None, hidden, 2, False, "h", "y")
    run("lstm-dense", ["uniDirectionalLSTM"], lambda x: dense @ lstm(x[::-1], wx, wh, b, sigmoid, np.tanh, np.tanh)[0][-1], stacked)
    back = gates("back", 4)
    def both(x):
        ahead, behind = lstm(x, wx, wh, b, sigmoid, np.tanh, np.tanh)[0], lstm(x[::-1], *back, sigmoid, np.tanh, np.tanh)[0]
        return np.concatenate([ahead, behind[::-1]], 1)[:, None]
    run("bi-lstm", ["biDirectionalLSTM"], both,
        lambda builder: builder.add_bidirlstm(
            "lstm", order(wh), order(wx), order(b), order(back[1]), order(back[0]), order(back[2]), hidden, inputs, ["x"], ["y"],
            output_all=True, cell_clip_threshold=50000.0))
    # Keras' default until version 2.2, and what else the engine's own operations lack: one step, which it repeats.
    def hard(v): return np.clip(0.2 * v + 0.5, 0, 1)
    peep = [w(f"peep{i}", hidden) for i in range(3)]
    run("lstm-hard", ["uniDirectionalLSTM"], lambda x: lstm(x, wx, wh, b, hard, np.tanh, np.tanh)[0][-1],
        lambda builder: builder.add_unilstm("lstm", order(wh), order(wx), order(b), hidden, inputs, ["x"], ["y"],
                                            inner_activation="SIGMOID_HARD", cell_clip_threshold=50000.0))
    run("lstm-peephole", ["uniDirectionalLSTM"],
        lambda x: lstm(x, wx, wh, b, sigmoid, np.tanh, np.tanh, peep=peep, coupled=True, clip=0.5)[0][:, None],
        lambda builder: builder.add_unilstm("lstm", order(wh), order(wx), order(b), hidden, inputs, ["x"], ["y"], output_all=True,
                                            peep=peep, coupled_input_forget_gate=True, cell_clip_threshold=0.5))
    run("simple-rnn-relu", ["simpleRecurrent"], lambda x: simple_rnn(x * 0.1, wx[0], wh[0], b[0] * 0, lambda v: np.maximum(v, 0))[:, None],
        lambda builder: builder.add_simple_rnn("rnn", wh[0], wx[0] * np.float32(0.1), None, hidden, inputs, "RELU", ["x"], ["y"], output_all=True))
    gx, gh, gb = gates("gru", 3)
    run("gru-hard", ["gru"], lambda x: gru(x[::-1], gx, gh, gb, hard, np.tanh)[:, None],
        lambda builder: builder.add_gru("gru", gh, gx, gb, hidden, inputs, ["x"], ["y"], "TANH", "SIGMOID_HARD", True, True))
    run("gru", ["gru"], lambda x: gru(x, gx, gh, gb, sigmoid, np.tanh)[-1],
        lambda builder: builder.add_gru("gru", gh, gx, gb, hidden, inputs, ["x"], ["y"], "TANH", "SIGMOID", False, False))
    run("simple-rnn", ["simpleRecurrent"], lambda x: simple_rnn(x, wx[0], wh[0], b[0], np.tanh)[:, None],
        lambda builder: builder.add_simple_rnn("rnn", wh[0], wx[0], b[0], hidden, inputs, "TANH", ["x"], ["y"], output_all=True))
    words = w("words", 7, inputs)
    def embedded(builder):
        builder.add_embedding("words", words.T, None, 7, inputs, False, "x", "e")
        builder.add_gru("gru", gh, gx, gb, hidden, inputs, ["e"], ["y"], "TANH", "SIGMOID", False, False)
    cases = []
    for ids in ([3, 0, 6, 6, 1], [2]):
        cases.append(({"x": np.float32(ids)[:, None, None]}, {"y": gru(words[ids].astype(np.float64), gx, gh, gb, sigmoid, np.tanh)[-1].astype(F)}))
    add("embedding", ["embedding", "gru"], {"x": (1,)}, cases, embedded)
    filters = w("filters", 4, inputs, 1, 1)
    def convolved(builder):
        # Steps become the width, and are pooled there.
        builder.add_permute("width", [3, 1, 2, 0], "x", "w")
        builder.add_convolution("conv", inputs, 4, 1, 1, 1, 1, "valid", 1, filters.transpose(2, 3, 1, 0), None, False, input_name="w",
                                output_name="c")
        builder.add_pooling("pool", 1, 1, 1, 1, "MAX", "VALID", "c", "y", is_global=True)
    run("convolution", ["convolution", "permute", "pooling (max)"], lambda x: (filters[:, :, 0, 0] @ x.T).max(1), convolved)
    # States are given step by step, and are no sequences.
    h0, c0, x = values("steps-h", hidden), values("steps-c", hidden), values("steps-state", 4, 1, inputs)
    hs, cs = lstm(x[:, 0].astype(np.float64), wx, wh, b, sigmoid, np.tanh, np.tanh, h=h0, c=c0)
    add("lstm-state", ["uniDirectionalLSTM"], {"x": (inputs,), "hin": (hidden,), "cin": (hidden,)},
        [({"x": x, "hin": h0, "cin": c0}, {"y": hs[-1].astype(F), "hout": hs[-1].astype(F), "cout": cs[-1].astype(F)})],
        lambda builder: builder.add_unilstm(
            "lstm", order(wh), order(wx), order(b), hidden, inputs, ["x", "hin", "cin"], ["y", "hout", "cout"],
            cell_clip_threshold=50000.0))


def weights(old):
    """innerProduct with its weights in each form of WeightParams."""
    rows, columns = 3, 5
    x = values("weights", columns)
    real = values("weightsr", rows, columns)

    def edit(write):
        def apply(spec):
            message = spec.neuralNetwork.layers[0].innerProduct.weights
            message.Clear()
            write(message)
        return apply

    def network(name, matrix, write, cover, tolerance=1e-4):
        old(f"weights-{name}", [cover], {"x": x}, {"y": matrix.astype(F) @ x},
            lambda builder: builder.add_inner_product("inner", real, None, columns, rows, False, "x", "y"),
            edit=edit(write), tolerance=tolerance)

    half = real.astype(np.float16)
    network("float16", half, lambda m: setattr(m, "float16Value", half.tobytes()), "weights (float16)")

    def packed(numbers, bits):
        # The highest bit first, no gaps; zeros at the end.
        text = "".join(f"{number:0{bits}b}" for number in numbers.ravel())
        text += "0" * (-len(text) % 8)
        return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))

    for bits in range(1, 9):
        codes = random(f"bits{bits}").integers(0, 1 << bits, (rows, columns))
        for channels in (1, rows):
            scale, bias = values(f"scale{bits}{channels}", channels), values(f"qbias{bits}{channels}", channels)
            def write(m):
                m.rawValue = packed(codes, bits)
                m.quantization.numberOfBits = bits
                m.quantization.linearQuantization.scale.extend(scale.tolist())
                m.quantization.linearQuantization.bias.extend(bias.tolist())
            network(f"linear-{bits}-{channels}", codes * scale[:, None] + bias[:, None], write, f"weights ({bits} bits, linear)")
        table = values(f"table{bits}", 1 << bits)
        def lookup(m):
            m.rawValue = packed(codes, bits)
            m.quantization.numberOfBits = bits
            m.quantization.lookupTableQuantization.floatValue.extend(table.tolist())
        network(f"table-{bits}", table[codes], lookup, f"weights ({bits} bits, table)")
    signed = random("int8").integers(-128, 128, (rows, columns))
    scale = values("int8scale", rows)
    def write8(m):
        m.int8RawValue = signed.astype(np.int8).tobytes()
        m.quantization.numberOfBits = 8
        m.quantization.linearQuantization.scale.extend(scale.tolist())
    network("int8", signed * scale[:, None], write8, "weights (int8)")

"""ML Programs: Recurrent layers, attention, integers for floats."""


import numpy as np
from coremltools.converters.mil import Builder as mb
from scipy import special

from .program_cases import IOS17, IOS18, case, normal
from .program_oracles import gate, lstm_steps


def outputs(name, found):
    return {f"{name}_{kind}": value for kind, value in zip(["sequence", "h", "c"], found)}


def lstm():
    s, b, i, h = 4, 2, 3, 5
    x = normal(s, b, i)
    wi, wh, bias = normal(4 * h, i, seed=2, scale=0.5), normal(4 * h, h, seed=3, scale=0.5), normal(4 * h, seed=4, scale=0.3)
    wib, whb, biasb = normal(4 * h, i, seed=5, scale=0.5), normal(4 * h, h, seed=6, scale=0.5), normal(4 * h, seed=7, scale=0.3)
    h0, c0, h2, c2 = normal(b, h, seed=8), normal(b, h, seed=9), normal(b, 2 * h, seed=10), normal(b, 2 * h, seed=11)
    hole = normal(3 * h, seed=12, scale=0.3)

    def build(x, h0, c0):
        common = dict(x=x, initial_h=h0, initial_c=c0, weight_ih=wi, weight_hh=wh)
        found = outputs("forward", mb.lstm(**common, bias=bias, output_sequence=True))
        found |= outputs("last", mb.lstm(**common, bias=bias))
        found |= outputs("reverse", mb.lstm(**common, bias=bias, direction="reverse", output_sequence=True))
        found |= outputs("plain", mb.lstm(**common, output_sequence=True))
        found |= outputs("scaled", mb.lstm(**common, bias=bias, output_sequence=True, cell_activation="scaled_tanh", activation="scaled_tanh"))
        found |= outputs("acts", mb.lstm(**common, bias=bias, output_sequence=True, recurrent_activation="hard_sigmoid", cell_activation="relu", activation="linear"))
        return found

    def expect(x, h0, c0):
        def three(name, found, whole=True):
            sequence, last, cell = found
            return {f"{name}_sequence": sequence if whole else sequence[-1:], f"{name}_h": last, f"{name}_c": cell}

        found = three("forward", lstm_steps(x, h0, c0, wi, wh, bias)) | three("last", lstm_steps(x, h0, c0, wi, wh, bias), False)
        found |= three("reverse", lstm_steps(x[::-1], h0, c0, wi, wh, bias)) | three("plain", lstm_steps(x, h0, c0, wi, wh, 0))
        found |= three("scaled", lstm_steps(x, h0, c0, wi, wh, bias, None, "sigmoid", "scaled_tanh", "scaled_tanh"))
        return found | three("acts", lstm_steps(x, h0, c0, wi, wh, bias, None, "hard_sigmoid", "relu", "linear"))

    case("lstm", {"x": x, "h0": h0, "c0": c0}, build, expect)

    def build_both(x, h2, c2):
        common = dict(x=x, initial_h=h2, initial_c=c2, weight_ih=wi, weight_hh=wh, bias=bias, weight_ih_back=wib, weight_hh_back=whb, bias_back=biasb, direction="bidirectional")
        return outputs("both", mb.lstm(**common, output_sequence=True)) | outputs("last", mb.lstm(**common))

    def expect_both(x, h2, c2):
        fs, fh, fc = lstm_steps(x, h2[:, :h], c2[:, :h], wi, wh, bias)
        bs, bh, bc = lstm_steps(x[::-1], h2[:, h:], c2[:, h:], wib, whb, biasb)
        states = {"h": np.concatenate([fh, bh], 1), "c": np.concatenate([fc, bc], 1)}
        both = np.concatenate([fs, bs[::-1]], 2)
        last = np.concatenate([fh, bh], 1)[None]
        return {"both_sequence": both, "last_sequence": last} | {f"{n}_{k}": v for n in ("both", "last") for k, v in states.items()}

    case("lstm_bidirectional", {"x": x, "h2": h2, "c2": c2}, build_both, expect_both)

    def build_hole(x, h0, c0):
        common = dict(x=x, initial_h=h0, initial_c=c0, weight_ih=wi, weight_hh=wh, bias=bias, output_sequence=True)
        return outputs("hole", mb.lstm(**common, peephole=hole)) | outputs("clip", mb.lstm(**common, clip=0.4))

    def expect_hole(x, h0, c0):
        return outputs("hole", lstm_steps(x, h0, c0, wi, wh, bias, hole)) | outputs("clip", lstm_steps(x, h0, c0, wi, wh, bias, clip=0.4))

    case("lstm_peephole", {"x": x, "h0": h0, "c0": c0}, build_hole, expect_hole)


def gru():
    s, b, i, h = 4, 2, 3, 5
    x = normal(s, b, i)
    h0 = normal(b, h, seed=8)
    gi, gh, gb, gx = normal(3 * h, i, seed=13, scale=0.5), normal(3 * h, h, seed=14, scale=0.5), normal(3 * h, seed=15, scale=0.3), normal(3 * h, seed=16, scale=0.3)

    def gru_steps(x, state, bias, inner="sigmoid", outer="tanh", after=False, given=0.0):
        given = np.zeros(3 * h) + given
        sequence = []
        for step in x:
            a, r = step @ gi.T + given, state @ gh.T + bias
            reset = gate(inner)(a[:, :h] + r[:, :h])
            update = gate(inner)(a[:, 2 * h :] + r[:, 2 * h :])
            if after:
                fresh = gate(outer)(a[:, h : 2 * h] + reset * r[:, h : 2 * h])
            else:
                fresh = gate(outer)(a[:, h : 2 * h] + (reset * state) @ gh[h : 2 * h].T + (np.zeros(3 * h) + bias)[h : 2 * h])
            state = update * state + (1 - update) * fresh
            sequence.append(state)
        return np.stack(sequence), state

    def build_gru(x, h0):
        common = dict(x=x, initial_h=h0, weight_ih=gi, weight_hh=gh)
        return (outputs("forward", mb.gru(**common, bias=gb, output_sequence=True)) | outputs("last", mb.gru(**common, bias=gb))
                | outputs("reverse", mb.gru(**common, bias=gb, direction="reverse", output_sequence=True)) | outputs("plain", mb.gru(**common, output_sequence=True))
                | outputs("acts", mb.gru(**common, bias=gb, output_sequence=True, recurrent_activation="hard_sigmoid", activation="relu")))

    def expect_gru(x, h0):
        full, state = gru_steps(x, h0, gb)
        return (outputs("forward", (full, state)) | outputs("last", (full[-1:], state)) | outputs("reverse", gru_steps(x[::-1], h0, gb))
                | outputs("plain", gru_steps(x, h0, 0.0)) | outputs("acts", gru_steps(x, h0, gb, "hard_sigmoid", "relu")))

    case("gru", {"x": x, "h0": h0}, build_gru, expect_gru)

    def build_gru18(x, h0):
        common = dict(x=x, initial_h=h0, weight_ih=gi, weight_hh=gh, bias=gb, output_sequence=True)
        return (outputs("after", mb.gru(**common, reset_after=True, input_bias=gx)) | outputs("given", mb.gru(**common, input_bias=gx))
                | outputs("plain", mb.gru(**common)))

    def expect_gru18(x, h0):
        return (outputs("after", gru_steps(x, h0, gb, after=True, given=gx)) | outputs("given", gru_steps(x, h0, gb, given=gx)) | outputs("plain", gru_steps(x, h0, gb)))

    case("gru_ios18", {"x": x, "h0": h0}, build_gru18, expect_gru18, opset=IOS18)


def rnn():
    s, b, i, h = 4, 2, 3, 5
    x = normal(s, b, i)
    h0 = normal(b, h, seed=8)
    ri, rh, rb = normal(h, i, seed=17), normal(h, h, seed=18, scale=0.5), normal(h, seed=19)

    def rnn_steps(x, state, bias, act="tanh"):
        sequence = []
        for step in x:
            state = gate(act)(step @ ri.T + state @ rh.T + bias)
            sequence.append(state)
        return np.stack(sequence), state

    def build_rnn(x, h0):
        common = dict(x=x, initial_h=h0, weight_ih=ri, weight_hh=rh)
        return (outputs("forward", mb.rnn(**common, bias=rb, output_sequence=True)) | outputs("last", mb.rnn(**common, bias=rb))
                | outputs("reverse", mb.rnn(**common, bias=rb, direction="reverse", output_sequence=True))
                | outputs("relu", mb.rnn(**common, output_sequence=True, activation="relu")))

    def expect_rnn(x, h0):
        full, state = rnn_steps(x, h0, rb)
        return (outputs("forward", (full, state)) | outputs("last", (full[-1:], state)) | outputs("reverse", rnn_steps(x[::-1], h0, rb))
                | outputs("relu", rnn_steps(x, h0, 0.0, "relu")))

    case("rnn", {"x": x, "h0": h0}, build_rnn, expect_rnn)


def attention():
    q, k, v = normal(1, 2, 3, 4), normal(1, 2, 5, 4, seed=2), normal(1, 2, 5, 6, seed=3)
    mask = np.float32([[0, -1, 0, -3, 0.5]] * 3)
    keep = np.array([[True, True, False, True, False], [True] * 5, [False, False, True, True, True]])

    def build(q, k, v, mask):
        flat = lambda t: mb.squeeze(x=t, axes=[0])
        return {
            "plain": mb.scaled_dot_product_attention(query=q, key=k, value=v),
            "masked": mb.scaled_dot_product_attention(query=q, key=k, value=v, attn_mask=mask),
            "kept": mb.scaled_dot_product_attention(query=q, key=k, value=v, attn_mask=keep),
            "three": mb.scaled_dot_product_attention(query=flat(q), key=flat(k), value=flat(v)),
        }

    def expect(q, k, v, mask):
        def attend(m=0.0):
            return special.softmax(q @ k.swapaxes(-1, -2) / 2 + m, -1) @ v

        return {"plain": attend(), "masked": attend(mask), "kept": attend(np.where(keep, 0, -np.inf)), "three": attend()[0]}

    case("attention_ios18", {"q": q, "k": k, "v": v, "mask": mask}, build, expect, opset=IOS18)


def quantized():
    x = normal(2, 3, 4, scale=3)

    def build(x):
        per_channel = dict(scale=np.float32([0.1, 0.2, 0.05]), zero_point=np.int8([1, -2, 0]), axis=1)
        q = mb.quantize(input=x, **per_channel, output_dtype="int8")
        plain = mb.quantize(input=x, scale=np.float32(0.05), zero_point=np.uint8(128), output_dtype="uint8")
        return {"channels": mb.dequantize(input=q, **per_channel), "whole": mb.dequantize(input=plain, scale=np.float32(0.05), zero_point=np.uint8(128)),
                "no_zero": mb.dequantize(input=mb.quantize(input=x, scale=np.float32(0.04), output_dtype="int8"), scale=np.float32(0.04))}

    def expect(x):
        def there(x, scale, zero, low, high):
            return (np.clip(np.rint(x / scale) + zero, low, high) - zero) * scale

        at = lambda v: np.float32(v)[None, :, None]
        return {"channels": there(x, at([0.1, 0.2, 0.05]), at([1, -2, 0]), -128, 127), "whole": there(x, np.float32(0.05), 128, 0, 255),
                "no_zero": there(x, np.float32(0.04), 0, -128, 127)}

    case("quantize_ios17", {"x": x}, build, expect, opset=IOS17)


FAMILIES = [lstm, gru, rnn, attention, quantized]

"""Hostile model files: seeded mutations of small models of every format, each loaded by `ocelli check` in a process with
limits. See scripts/fuzz models. Standard library only."""

import argparse
import collections
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

INTERESTING = [0, 1, 2, 3, 7, 8, 255, 256, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1]


# Protobuf, without its schemas: a tree of fields, guessed from the bytes.


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def write_varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse_message(data, depth=0):
    """A list of [field, wire type, value]; the value of a nested message is such a list again."""
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        field, wire = key >> 3, key & 7
        if field == 0 or field > 20000:
            raise ValueError
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at : at + size], at + size
        elif wire == 2:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
            if len(value) < size:
                raise ValueError
            if depth < 12 and 1 < size < 200_000:
                try:
                    value = parse_message(value, depth + 1)
                except ValueError:
                    pass
        else:
            raise ValueError
        if at > len(data):
            raise ValueError
        fields.append([field, wire, value])
    return fields


def write_message(fields):
    out = bytearray()
    for field, wire, value in fields:
        out += write_varint(field << 3 | wire)
        if wire == 0:
            out += write_varint(value)
        elif wire == 2:
            body = write_message(value) if isinstance(value, list) else bytes(value)
            out += write_varint(len(body)) + body
        else:
            out += value
    return bytes(out)


def all_messages(fields):
    yield fields
    for entry in fields:
        if isinstance(entry[2], list):
            yield from all_messages(entry[2])


def copy_tree(fields):
    return [[f, w, copy_tree(v) if isinstance(v, list) else v] for f, w, v in fields]


def mutate_protobuf(random, tree):
    tree = copy_tree(tree)
    messages = [m for m in all_messages(tree) if m]
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        message = random.choice(messages)
        if not message:
            continue
        index = random.randrange(len(message))
        entry = message[index]
        action = random.randrange(8)
        if action == 0:
            del message[index]
        elif action == 1:
            message.insert(random.randrange(len(message) + 1), copy_tree([entry])[0])
        elif action == 2:
            other = random.choice(messages)
            if other:
                message[index] = copy_tree([random.choice(other)])[0]
        elif action == 3 and entry[1] != 2:
            entry[0] = random.randrange(1, 40)
        elif entry[1] == 0:
            entry[2] = random.choice([random.choice(INTERESTING), -random.choice(INTERESTING), entry[2] + 1, entry[2] - 1])
        elif entry[1] in (1, 5):
            entry[2] = bytes(random.randrange(256) for _ in entry[2])
        elif isinstance(entry[2], list):
            random.shuffle(entry[2])
        else:
            entry[2] = mutate_bytes(random, bytes(entry[2])) if entry[2] else b"\x00"
    return write_message(tree)


# Bytes of any format.


def mutate_bytes(random, data):
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 4, 16])):
        if not data:
            return bytes(random.randrange(256) for _ in range(8))
        at = random.randrange(len(data))
        action = random.randrange(7)
        if action == 0:
            data[at] ^= 1 << random.randrange(8)
        elif action == 1:
            data[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
        elif action == 2:
            del data[at : at + random.choice([1, 2, 4, 16])]
        elif action == 3:
            data[at:at] = bytes(random.randrange(256) for _ in range(random.choice([1, 2, 4])))
        elif action == 4:
            start = random.randrange(len(data))
            chunk = data[start : start + random.choice([4, 16, 64])]
            data[at : at + len(chunk)] = chunk
        elif action == 5:
            data[at : at + 8] = struct.pack("<Q", random.choice(INTERESTING) & (2**64 - 1))[: random.choice([2, 4, 8])]
        else:
            del data[at:]
    return bytes(data)


def mutate_words(random, data):
    """FlatBuffers: offsets, sizes and tables are words at multiples of four."""
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 3])):
        # The tables are at the ends of the file; weights are most of the rest.
        span = min(len(data), random.choice([256, 1024, 4096, len(data)]))
        base = random.choice([0, len(data) - span])
        at = base + random.randrange(max(1, span - 8)) // 4 * 4
        word = struct.unpack_from("<i", data, at)[0]
        value = random.choice(
            [random.choice(INTERESTING), -random.choice(INTERESTING), word + random.choice([-8, -4, -1, 1, 4, 8]),
             struct.unpack_from("<i", data, random.randrange(len(data) // 4) * 4)[0]])
        struct.pack_into("<I", data, at, value & 0xFFFFFFFF)
    return bytes(data)


def mutate_xml(random, text):
    for _ in range(random.choice([1, 1, 2, 3])):
        action = random.randrange(6)
        values = list(re.finditer(r'(\w+)="([^"]*)"|<dim>([^<]*)</dim>', text))
        elements = list(re.finditer(r"[ \t]*<(layer|edge|port|data|dim|input|output)\b[^\n]*\n", text))
        if action <= 3 and values:
            match = random.choice(values)
            group = 2 if match.group(1) else 3
            choices = [str(random.choice(INTERESTING)), "-" + str(random.choice(INTERESTING)), "", "nan", "1e308", "-1",
                       ",".join(str(random.choice(INTERESTING)) for _ in range(random.randrange(1, 9))), "A" * 5000,
                       "1,1,1,1,1,1,1,1,1,1", "?", "-1..5", "f32", "u4", "string", "i64", "undefined",
                       random.choice(values).group(2) or "0"]
            text = text[: match.start(group)] + random.choice(choices) + text[match.end(group) :]
        elif action == 4 and elements:
            match = random.choice(elements)
            text = text[: match.start()] + text[match.end() :]
        elif elements:
            match, other = random.choice(elements), random.choice(elements)
            text = text[: other.start()] + match.group(0) + text[other.start() :]
    return text


# Seeds.


def field(number, value):
    if isinstance(value, int):
        return [number, 0, value]
    return [number, 2, value.encode() if isinstance(value, str) else value]


def tiny_onnx():
    """A convolution, a pooling, a matrix product, a reshape, a softmax: most of what a classifier has, in 1 KB."""

    def floats(name, dims):
        count = 1
        for extent in dims:
            count *= extent
        return [field(1, d) for d in dims] + [field(2, 1), field(8, name), field(9, struct.pack("<f", 0.1) * count)]

    def ints(name, values):
        return [field(1, len(values)), field(2, 7), field(8, name), field(9, struct.pack(f"<{len(values)}q", *values))]

    def integers(name, values):
        return field(5, [field(1, name)] + [field(8, v) for v in values] + [field(20, 7)])

    def node(operation, inputs, outputs, attributes=()):
        return field(1, [field(1, i) for i in inputs] + [field(2, o) for o in outputs]
                     + [field(3, operation + "_1"), field(4, operation)] + list(attributes))

    def value(number, name, dims):
        shape = [field(1, [field(1, d)]) for d in dims]
        return field(number, [field(1, name), field(2, [field(1, [field(1, 1), field(2, shape)])])])

    graph = [
        node("Conv", ["x", "w", "b"], ["c"],
             [integers("kernel_shape", [3, 3]), integers("pads", [1, 1, 1, 1]), integers("strides", [1, 1])]),
        node("Relu", ["c"], ["r"]),
        node("MaxPool", ["r"], ["p"], [integers("kernel_shape", [2, 2]), integers("strides", [2, 2])]),
        node("Reshape", ["p", "s"], ["f"]),
        node("Gemm", ["f", "g", "h"], ["y"]),
        node("Softmax", ["y"], ["z"]),
        field(2, "graph"),
        field(5, floats("w", [2, 1, 3, 3])), field(5, floats("b", [2])), field(5, ints("s", [1, 32])),
        field(5, floats("g", [32, 4])), field(5, floats("h", [4])),
        value(11, "x", [1, 1, 8, 8]), value(12, "z", [1, 4]),
    ]
    return write_message([field(1, 8), field(7, graph), field(8, [field(1, ""), field(2, 13)])])


def tiny_ir():
    """The same as OpenVINO's own format; its weights (zeros) are beside it."""

    def layer(number, name, kind, data, inputs, output, precision="FP32"):
        def port(index, dims, attributes):
            return [f'\t\t\t\t<port id="{index}"{attributes}>'] + [f"\t\t\t\t\t<dim>{d}</dim>" for d in dims] + ["\t\t\t\t</port>"]

        lines = [f'\t\t<layer id="{number}" name="{name}" type="{kind}" version="opset1">']
        if data:
            lines.append("\t\t\t<data " + " ".join(f'{k}="{v}"' for k, v in data.items()) + " />")
        if inputs:
            lines.append("\t\t\t<input>")
            for index, dims in enumerate(inputs):
                lines += port(index, dims, f' precision="{precision}"')
            lines.append("\t\t\t</input>")
        if output is not None:
            lines.append("\t\t\t<output>")
            lines += port(len(inputs), output, f' precision="{precision}" names="{name}"')
            lines.append("\t\t\t</output>")
        return lines + ["\t\t</layer>"]

    def constant(number, name, dims, offset, kind="f32"):
        size = 8 if kind == "i64" else 4
        for extent in dims:
            size *= extent
        return layer(number, name, "Const",
                     {"element_type": kind, "shape": ",".join(map(str, dims)), "offset": offset, "size": size}, [], dims,
                     "I64" if kind == "i64" else "FP32")

    lines = ['<?xml version="1.0"?>', '<net name="tiny" version="11">', "\t<layers>"]
    lines += layer(0, "x", "Parameter", {"shape": "1,1,8,8", "element_type": "f32"}, [], [1, 1, 8, 8])
    lines += constant(1, "w", [2, 1, 3, 3], 0)
    lines += layer(2, "c", "Convolution",
                   {"strides": "1,1", "dilations": "1,1", "pads_begin": "1,1", "pads_end": "1,1", "auto_pad": "explicit"},
                   [[1, 1, 8, 8], [2, 1, 3, 3]], [1, 2, 8, 8])
    lines += layer(3, "r", "ReLU", {}, [[1, 2, 8, 8]], [1, 2, 8, 8])
    lines += layer(4, "p", "MaxPool",
                   {"strides": "2,2", "pads_begin": "0,0", "pads_end": "0,0", "kernel": "2,2", "rounding_type": "floor",
                    "auto_pad": "explicit"}, [[1, 2, 8, 8]], [1, 2, 4, 4])
    lines += constant(5, "s", [2], 72, "i64")
    lines += layer(6, "f", "Reshape", {"special_zero": "true"}, [[1, 2, 4, 4], [2]], [1, 32])
    lines += constant(7, "g", [32, 4], 88)
    lines += layer(8, "m", "MatMul", {"transpose_a": "false", "transpose_b": "false"}, [[1, 32], [32, 4]], [1, 4])
    lines += layer(9, "y", "SoftMax", {"axis": "1"}, [[1, 4]], [1, 4])
    lines += layer(10, "z", "Result", {}, [[1, 4]], None)
    lines += ["\t</layers>", "\t<edges>"]
    for source, port, target, place in [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), (3, 1, 4, 0), (4, 1, 6, 0), (5, 0, 6, 1),
                                        (6, 2, 8, 0), (7, 0, 8, 1), (8, 2, 9, 0), (9, 1, 10, 0)]:
        lines.append(f'\t\t<edge from-layer="{source}" from-port="{port}" to-layer="{target}" to-port="{place}" />')
    lines += ["\t</edges>", "</net>", ""]
    return "\n".join(lines), struct.pack("<18f", *[0.1] * 18) + struct.pack("<2q", 1, 32) + struct.pack("<128f", *[0.1] * 128)


class Formats:
    """One method for each format: writes the mutant of a number to a folder and tells the path that is loaded."""

    def __init__(self, root, data):
        self.onnx_seeds = [tiny_onnx(), open(os.path.join(root, "models/digits/digits.onnx"), "rb").read()]
        self.onnx_trees = [parse_message(seed) for seed in self.onnx_seeds]
        self.xml, self.bin = tiny_ir()
        self.tflite_seeds, self.savedmodel_seeds = [], []
        if data:
            for base, _, files in sorted(os.walk(data)):
                for name in files:
                    path = os.path.join(base, name)
                    if name.endswith(".tflite") and os.path.getsize(path) < 400_000:
                        self.tflite_seeds.append(open(path, "rb").read())
                    if name == "saved_model.pb" and base.endswith("/predict"):
                        # The bundle round it: the loader finds a SavedModel by its model.json.
                        self.savedmodel_seeds.append((os.path.dirname(base), parse_message(open(path, "rb").read())))

    def onnx(self, random, folder, name):
        index = 0 if random.random() < 0.7 else 1
        if random.random() < 0.7:
            data = mutate_protobuf(random, self.onnx_trees[index])
        else:
            data = mutate_bytes(random, self.onnx_seeds[index])
        return self.write(folder, name + ".onnx", data)

    def tflite(self, random, folder, name):
        seed = random.choice(self.tflite_seeds)
        data = mutate_words(random, seed) if random.random() < 0.7 else mutate_bytes(random, seed)
        return self.write(folder, name + ".tflite", data)

    def ir(self, random, folder, name):
        weights = self.bin if random.random() < 0.9 else mutate_bytes(random, self.bin)
        self.write(folder, name + ".bin", weights)
        if random.random() < 0.8:
            text = mutate_xml(random, self.xml).encode()
        else:
            text = mutate_bytes(random, self.xml.encode())
        return self.write(folder, name + ".xml", text)

    def savedmodel(self, random, folder, name):
        base, tree = random.choice(self.savedmodel_seeds)
        path = os.path.join(folder, name)
        shutil.copytree(base, path)
        for directory, _, files in os.walk(path):
            os.chmod(directory, 0o755)
            for file in files:
                os.chmod(os.path.join(directory, file), 0o644)
        inner = os.path.join(path, "predict")
        if random.random() < 0.2:
            for file in ["variables.index", "variables.data-00000-of-00001"]:
                place = os.path.join(inner, "variables", file)
                if os.path.exists(place):
                    self.write(os.path.dirname(place), file, mutate_bytes(random, open(place, "rb").read()))
        else:
            data = mutate_protobuf(random, tree) if random.random() < 0.7 else mutate_bytes(random, write_message(tree))
            self.write(inner, "saved_model.pb", data)
        return path

    @staticmethod
    def write(folder, name, data):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path


# Running.


class Runner:
    def __init__(self, program, memory, seconds, extra):
        self.program, self.memory, self.seconds, self.extra = program, memory, seconds, extra

    def check(self, paths):
        """Checks files in one process. Tells how each fared, as far as it came, how the process ended, and its peak in MB."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        process = subprocess.Popen(
            [self.program, "check", "--cache-dir", ""] + self.extra + paths, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, preexec_fn=limit, env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
        started, expired = time.monotonic(), False
        # The time is one file's: whenever one more has been reported, it starts again.
        os.set_blocking(process.stdout.fileno(), False)
        output = bytearray()
        last = started
        while True:
            chunk = process.stdout.read()
            if chunk:
                output += chunk
                last = time.monotonic()
            elif chunk == b"":
                break
            else:
                if time.monotonic() - last > self.seconds:
                    process.kill()
                    expired = True
                    break
                time.sleep(0.005)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        ended = "hang" if expired else None
        if not expired and os.WIFSIGNALED(status):
            ended = signal.Signals(os.WTERMSIG(status)).name
        text = output.decode("utf-8", "replace")
        fates = []
        for path in paths:
            place = text.find(path + ": ")
            if place < 0:
                break
            good = text.startswith("good", place + len(path) + 2)
            fates.append("loads" if good else "refused")
        return fates, ended, usage.ru_maxrss / 1024, text[-400:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", type=int, default=300)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--formats", default="onnx,ir,tflite,savedmodel")
    parser.add_argument("--memory", type=int, default=4096, help="MB of address space")
    parser.add_argument("--seconds", type=float, default=30, help="for one file")
    parser.add_argument("--keep", default=".build/fuzz-models", help="where what was found is kept")
    parser.add_argument("--program", default=".build/release/ocelli")
    parser.add_argument("--shared", default="../shared/data")
    parser.add_argument("--setting", action="append", default=[], help="a further argument of ocelli check")
    arguments = parser.parse_args()
    data = arguments.shared if os.path.isdir(arguments.shared) else None
    formats = Formats(".", data)
    found = 0
    runner = Runner(arguments.program, arguments.memory << 20, arguments.seconds, arguments.setting)
    os.makedirs(arguments.keep, exist_ok=True)
    for name in arguments.formats.split(","):
        if name in ("tflite", "savedmodel") and not data:
            print(f"{name}: skipped, there is no {arguments.shared}")
            continue
        work = os.path.join(arguments.keep, "work")
        tally, peak, number, start = collections.Counter(), 0, 0, time.monotonic()
        queue = []
        while number < arguments.count or queue:
            if not queue:
                shutil.rmtree(work, ignore_errors=True)
                os.makedirs(work)
                for _ in range(min(50, arguments.count - number)):
                    source = random.Random(f"{arguments.seed}/{name}/{number}")
                    queue.append(getattr(formats, name)(source, work, f"m{number}"))
                    number += 1
            fates, ended, memory, text = runner.check(queue)
            peak = max(peak, memory)
            tally.update(fates)
            if memory > 1024 and len(queue) > 1 and not ended:
                # One of them took it: each alone, to know which.
                for path in queue:
                    _, _, alone, _ = runner.check([path])
                    if alone > 1024:
                        found += keep(arguments.keep, name, path, f"{alone:.0f}MB", tally)
                queue = []
                continue
            if ended:
                if len(fates) == len(queue):
                    # All were answered; it crashed at its end.
                    found += keep(arguments.keep, name, queue[-1], ended + "-at-exit", tally)
                    queue = []
                    continue
                culprit = queue[len(fates)]
                again = runner.check([culprit])[1]
                kind = ended if again else ended + "-not-alone"
                found += keep(arguments.keep, name, culprit, kind, tally)
                queue = queue[len(fates) + 1 :]
            else:
                if len(fates) < len(queue):
                    sys.exit(f"{name}: the program ended before its time: {text}")
                queue = []
        shutil.rmtree(work, ignore_errors=True)
        listed = ", ".join(f"{count} {what}" for what, count in sorted(tally.items()))
        print(f"{name}: {arguments.count} mutants, seed {arguments.seed}: {listed}; peak {peak:.0f} MB, "
              f"{time.monotonic() - start:.0f} s", flush=True)
    sys.exit(1 if found else 0)


def keep(folder, name, path, kind, tally):
    tally[kind] += 1
    print(f"  {name}: {kind}: {os.path.basename(path)}", flush=True)
    target = os.path.join(folder, f"{name}-{kind}-{os.path.basename(path)}")
    if os.path.isdir(path):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(path, target)
    else:
        shutil.copy(path, target)
        if name == "ir":
            shutil.copy(path[:-4] + ".bin", target[:-4] + ".bin")
    return 1


main()

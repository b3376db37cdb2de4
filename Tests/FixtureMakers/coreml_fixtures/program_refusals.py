"""ML Programs that must be refused: one small program, damaged in one way each, and what is to be said of it."""

import copy
import json
import pathlib
import shutil
import tempfile

from coremltools.converters.mil import Builder as mb
from coremltools.proto import MIL_pb2

from .program_cases import Case, Package, normal

BEYOND = 1 << 40


def base():
    """x [2, 4] · weights of the weight file, and their softmax; as spec and weight file."""
    weight = normal(4, 4, seed=2)

    def build(x):
        return {"scores": mb.softmax(x=mb.linear(x=x, weight=weight, name="product"), axis=-1)}

    model = Case("base", {"x": normal(2, 4)}, build, None).model()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "base.mlpackage"
        Package(model).save(str(path))
        return model.get_spec(), (path / "Data/com.apple.CoreML/weights/weight.bin").read_bytes()


def main(spec):
    return spec.mlProgram.functions["main"]


def operations(spec):
    return main(spec).block_specializations[main(spec).opset].operations


def find(spec, kind):
    return next(operation for operation in operations(spec) if operation.type == kind)


def weight(spec):
    return next(o.attributes["val"] for o in operations(spec) if o.type == "const" and o.attributes["val"].HasField("blobFileValue"))


def tensor(kind, shape, **values):
    value = MIL_pb2.Value()
    value.type.tensorType.dataType = kind
    value.type.tensorType.rank = len(shape)
    for extent in shape:
        value.type.tensorType.dimensions.add().constant.size = extent
    for name, content in values.items():
        field = getattr(value.immediateValue.tensor, name)
        field.values.extend(content)
    return value


def bind(operation, name, value):
    argument = operation.inputs[name]
    del argument.arguments[:]
    if isinstance(value, str):
        argument.arguments.add().name = value
    else:
        argument.arguments.add().value.CopyFrom(value)


def blob(**fields):
    def change(spec):
        for name, value in fields.items():
            setattr(weight(spec).blobFileValue, name, value)

    return change


def retyped(kind):
    def change(spec):
        weight(spec).type.tensorType.dataType = kind

    return change


def smaller(spec):
    weight(spec).type.tensorType.dimensions[0].constant.size = 3


def unknown(*kinds):
    def change(spec):
        for kind in kinds:
            copied = operations(spec).add()
            copied.CopyFrom(find(spec, "softmax"))
            copied.type = kind
            copied.outputs[0].name = f"{kind}{len(operations(spec))}"

    return change


def state(spec):
    given = main(spec).inputs.add(name="memory")
    given.type.stateType.wrappedType.tensorType.dataType = MIL_pb2.FLOAT32


def renamed(spec):
    spec.mlProgram.functions["second"].CopyFrom(main(spec))
    del spec.mlProgram.functions["main"]


def argument(kind, name, value):
    return lambda spec: bind(find(spec, kind), name, value)


def removed(kind, name):
    def change(spec):
        del find(spec, kind).inputs[name]

    return change


def twice(spec):
    find(spec, "softmax").outputs[0].name = find(spec, "linear").outputs[0].name


def declared(spec):
    find(spec, "softmax").outputs[0].type.tensorType.dimensions[1].constant.size = 5


def filled(spec):
    operation = find(spec, "softmax")
    operation.type = "fill"
    bind(operation, "shape", tensor(MIL_pb2.INT32, [2], ints=[1 << 20, 1 << 20]))
    operation.outputs[0].type.tensorType.dimensions[0].constant.size = 1 << 20
    operation.outputs[0].type.tensorType.dimensions[1].constant.size = 1 << 20


def nested(spec):
    value = tensor(MIL_pb2.STRING, [], strings=["deep"])
    for _ in range(12):
        outer = MIL_pb2.Value()
        outer.immediateValue.list.values.add().CopyFrom(value)
        value = outer
    find(spec, "softmax").attributes["deep"].CopyFrom(value)


def loop(goes_on):
    """The softmax becomes a loop that runs for ever, or as the input says."""

    def change(spec):
        operation = find(spec, "softmax")
        operation.type = "while_loop"
        bind(operation, "loop_vars", operation.inputs["x"].arguments[0].name)
        del operation.inputs["x"], operation.inputs["axis"]
        for block in (operation.blocks.add(), operation.blocks.add()):
            block.inputs.add(name="value").type.CopyFrom(operation.outputs[0].type)
            block.outputs.append("value")
        if goes_on:
            constant = operation.blocks[0].operations.add(type="const")
            constant.outputs.add(name="yes")
            constant.attributes["val"].CopyFrom(tensor(MIL_pb2.BOOL, [], bools=[True]))
            operation.blocks[0].outputs[0] = "yes"

    return change


def extent(size):
    def change(spec):
        weight(spec).type.tensorType.dimensions[0].constant.size = size

    return change


def palette(spec):
    operation = next(o for o in operations(spec) if o.type == "const" and o.attributes["val"].HasField("blobFileValue"))
    operation.type = "constexpr_lut_to_dense"
    del operation.attributes["val"]
    operation.attributes["lut"].CopyFrom(tensor(MIL_pb2.FLOAT32, [2], floats=[1, 2]))
    operation.attributes["indices"].CopyFrom(tensor(MIL_pb2.UINT8, [1], ints=[3]))
    operation.attributes["shape"].CopyFrom(tensor(MIL_pb2.UINT32, [2], ints=[1 << 20, 1 << 20]))


CASES = {
    "outside": (blob(fileName="@model_path/../weight.bin"), 'the weight file "@model_path/../weight.bin" is outside of the package'),
    "absolute": (blob(fileName="/etc/passwd"), 'the weight file "/etc/passwd" is outside of the package'),
    "other_file": (blob(fileName="@model_path/weights/other.bin"), 'the weight file "weights/other.bin" is missing'),
    "beyond": (blob(offset=BEYOND), f"offset {BEYOND} is beyond the weight file"),
    "beyond_all_numbers": (blob(offset=(1 << 64) - 1), f"offset {(1 << 64) - 1} is beyond the weight file"),
    "no_record": (blob(offset=0), "there is no record at offset 0 of the weight file"),
    "other_type": (retyped(MIL_pb2.FLOAT16), "holds float32, not float16"),
    "unknown_type": (retyped(99), "unknown data type 99"),
    "smaller": (smaller, "has 64 bytes; 12 elements of type float32 take 48"),
    "extent_too_large": (extent(1 << 62), f"unsupported extent {1 << 62}"),
    "unknown_operations": (unknown("warp", "warp", "random_normal", "custom_layer", "read_state"), 'operation "warp" (occurs 2 times): is not supported'),
    "endless": (loop(True), "the loop runs more than 65536 times"),
    "unknown_rounds": (loop(None), "the number of iterations is known only at run time"),
    "state": (state, 'inputs "memory": state that lasts from one prediction to the next is not supported'),
    "other_function": (renamed, 'there is no function "main"; the program has "second"'),
    "other_opset": (lambda spec: setattr(main(spec), "opset", "CoreML99"), 'there is no block for the operation set "CoreML99"'),
    "unknown_name": (argument("softmax", "x", "nothing"), 'x: undefined value "nothing"'),
    "missing_argument": (removed("linear", "weight"), 'the argument "weight" is missing'),
    "axis_too_large": (argument("softmax", "axis", tensor(MIL_pb2.INT32, [], ints=[7])), "axis 7 is out of range: the value has 2 axes"),
    "computed_axis": (argument("softmax", "axis", "x"), "axis: must be a constant"),
    "text_for_axis": (argument("softmax", "axis", tensor(MIL_pb2.STRING, [], strings=["last"])), "axis: must be a constant"),
    "name_twice": (twice, "is defined twice"),
    "declared_shape": (declared, "the output is declared with shape [2,5], but has shape [2,4]"),
    "filled": (filled, "is too large"),
    "nested": (nested, "values are nested deeper than 8 levels"),
    "palette_of_nothing": (palette, "indices: a constant of shape [1048576, 1048576] needs"),
}


def make(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    spec, weights = base()
    spec.description.metadata.userDefined.clear()
    (folder / "weight.bin").write_bytes(weights)
    for name, (change, _) in CASES.items():
        damaged = copy.deepcopy(spec)
        change(damaged)
        (folder / f"{name}.mlmodel").write_bytes(damaged.SerializeToString(deterministic=True))
    (folder / "sound.mlmodel").write_bytes(spec.SerializeToString(deterministic=True))
    (folder / "problems.json").write_text(json.dumps({name: problem for name, (_, problem) in CASES.items()}, indent=1) + "\n")

"""See scripts/int8-weights."""

import json
import os
import shutil
import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops


def chain_of(convolution):
    """The nodes between a convolution and the constant of its weights, and the constant."""
    node, chain = convolution.input_value(1).get_node(), []
    while node.get_type_name() != "Constant":
        chain.append(node)
        node = node.input_value(0).get_node()
    return chain, node


def rewrite(convolution):
    chain, constant = chain_of(convolution)
    kinds = [node.get_type_name() for node in chain]
    # Weights are (w - zero point) * scale; those without a Subtract are signed already.
    if "Subtract" not in kinds or "Multiply" not in kinds or constant.get_element_type() != ov.Type.u8:
        return False
    subtract, multiply = chain[kinds.index("Subtract")], chain[kinds.index("Multiply")]
    zero = subtract.input_value(1).get_node().data.astype(np.float64)
    scale = multiply.input_value(1).get_node().data.astype(np.float64)
    weights = (constant.data.astype(np.float64) - zero) * scale
    # Depthwise weights come with their channels last and are turned later; the others have their output channels first.
    last = "Transpose" in kinds[: kinds.index("Multiply")]
    axes = tuple(range(weights.ndim - 1)) if last else tuple(range(1, weights.ndim))
    step = np.abs(weights).max(axis=axes, keepdims=True) / 127
    step[step == 0] = 1
    signed = np.clip(np.round(weights / step), -127, 127).astype(np.int8)
    fresh = ops.multiply(ops.convert(ops.constant(signed), "f32"), ops.constant(step.astype(np.float32)))
    multiply.output(0).replace(fresh.output(0))
    return True


def main():
    source, target = sys.argv[1], sys.argv[2]
    with open(os.path.join(source, "model.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    name = manifest["model"]["file"]
    if not name.endswith(".tflite"):
        sys.exit(f"int8-weights: expected a bundle with a .tflite file, found {name}")
    if os.path.exists(target):
        sys.exit(f"int8-weights: {target} is there already")
    model = ov.Core().read_model(os.path.join(source, name))
    convolutions = [op for op in model.get_ops() if op.get_type_name() in ("Convolution", "GroupConvolution")]
    count = sum(rewrite(convolution) for convolution in convolutions)
    if count == 0:
        sys.exit("int8-weights: no weights with a zero point other than 128: nothing is to be gained here")
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(name, "model.json"))
    os.chmod(target, 0o755)
    stem = name[: -len(".tflite")]
    ov.save_model(model, os.path.join(target, stem + ".xml"), compress_to_fp16=False)
    manifest["model"].update(file=stem + ".xml", backend="openvino")
    # TF Lite's tensors are found by place; in the new file they have names, in the same order.
    for layers, ports in (("inputs", model.inputs), ("outputs", model.outputs)):
        for layer, port in zip(manifest[layers], ports):
            layer["name"] = port.get_any_name()
    with open(os.path.join(target, "model.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2, ensure_ascii=False)
        file.write("\n")
    print(f"{target}: {count} of {len(convolutions)} convolutions have new weights")


main()

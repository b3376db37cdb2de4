"""Writes a pair of picture and text networks with random weights, in the split layout of CLIP."""
import json
import shutil

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, LONGEST = 512, 77
# Stride and channels of the convolutions.
STEPS = [(2, 32), (2, 64), (1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512)]


def network(name, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(array, key) for key, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def pictures(random):
    nodes, weights, last, channels = [], {}, "pixel_values", 3
    for number, (stride, width) in enumerate(STEPS):
        weights[f"w{number}"] = (random.standard_normal((width, channels, 3, 3)) * (2 / (9 * channels)) ** 0.5).astype("f4")
        nodes.append(helper.make_node("Conv", [last, f"w{number}"], [f"c{number}"], kernel_shape=[3, 3], strides=[stride, stride], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{number}"], [f"r{number}"]))
        last, channels = f"r{number}", width
    weights["projection"] = random.standard_normal((channels, WIDTH)).astype("f4")
    nodes += [
        helper.make_node("GlobalAveragePool", [last], ["pooled"]), helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "projection"], ["image_embeds"])]
    return network(
        "pictures", nodes, [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, 224, 224])],
        [helper.make_tensor_value_info("image_embeds", TensorProto.FLOAT, ["batch", WIDTH])], weights)


def texts(random, tokens):
    weights = {
        "table": random.standard_normal((tokens, WIDTH)).astype("f4"), "places": random.standard_normal((LONGEST, WIDTH)).astype("f4") * 0.1,
        "first": random.standard_normal((WIDTH, WIDTH)).astype("f4") * 0.06, "second": random.standard_normal((WIDTH, WIDTH)).astype("f4") * 0.06,
        "zero": numpy.array([0], "i8"), "one": numpy.array([1], "i8")}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]), helper.make_node("Shape", ["input_ids"], ["shape"]),
        helper.make_node("Slice", ["shape", "one", "end", "zero"], ["count"]), helper.make_node("Slice", ["places", "zero", "count", "zero"], ["some"]),
        helper.make_node("Add", ["rows", "some"], ["placed"]), helper.make_node("MatMul", ["placed", "first"], ["a"]), helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("ReduceMean", ["b"], ["mean"], axes=[1], keepdims=0), helper.make_node("MatMul", ["mean", "second"], ["text_embeds"])]
    weights["end"] = numpy.array([2], "i8")
    return network(
        "texts", nodes, [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])],
        [helper.make_tensor_value_info("text_embeds", TensorProto.FLOAT, ["batch", WIDTH])], weights)


def write(folder, tokenizer):
    folder.mkdir(parents=True)
    random = numpy.random.default_rng(60)
    vocabulary = json.loads(tokenizer.read_text())
    tokens = max([*vocabulary["model"]["vocab"].values(), *(each["id"] for each in vocabulary["added_tokens"])]) + 1
    onnx.save(pictures(random), folder / "vision_model.onnx")
    onnx.save(texts(random, tokens), folder / "text_model.onnx")
    shutil.copy(tokenizer, folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps({
        "model_type": "clip", "text_config": {"max_position_embeddings": LONGEST, "vocab_size": tokens}, "vision_config": {"image_size": 224}}))
    (folder / "preprocessor_config.json").write_text(json.dumps({
        "crop_size": 224, "size": 224, "do_center_crop": True, "do_resize": True, "do_normalize": True, "resample": 3,
        "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": LONGEST, "tokenizer_class": "CLIPTokenizer"}))
    (folder / "model.json").write_text(json.dumps({"name": "clip", "id": "clip", "version": "1", "zero_shot": {"scale": 100}}))

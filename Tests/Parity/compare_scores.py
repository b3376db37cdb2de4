"""Compares Ocelli's scores with those of OpenVINO's Python API. Called by Tests/Parity/compare-scores."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import openvino as ov
from PIL import Image

TYPES = {"float32": np.float32, "float16": np.float16, "uint8": np.uint8, "int8": np.int8}
PICTURES = 8
SEED = 20261121


def pictures(width, height, folder, random):
    """Pictures of the input's size, from flat to noisy, with structure at every scale."""
    for index in range(PICTURES):
        small = random.integers(0, 256, (2 + 3 * index, 2 + 3 * index, 3), dtype=np.uint8)
        picture = Image.fromarray(small).resize((width, height), Image.BICUBIC)
        path = pathlib.Path(folder) / f"{index}.png"
        picture.save(path)
        yield path, np.asarray(picture)


def tensor(pixels, layer, element_type):
    """What model.json says becomes of the pixels."""
    values = pixels.astype(np.float32)
    standard = layer.get("normalize", {}).get("standard")
    if standard == "[-1,1]":
        values = values * np.float32(2 / 255) - np.float32(1)
    elif standard == "[0,1]":
        values = values * np.float32(1 / 255)
    elif "normalize" in layer:
        raise SystemExit(f"compare-scores: does not know normalize {layer['normalize']}")
    if "quantize" in layer:
        values = (values + layer["quantize"]["bias"]) * layer["quantize"]["scale"]
    if layer["format"] == "BGR":
        values = values[:, :, ::-1]
    if layer.get("layout") == "NCHW":
        values = values.transpose(2, 0, 1)
    return np.ascontiguousarray(values[None].astype(element_type))


def scores(raw, layer):
    """What model.json says becomes of the output."""
    values = raw.astype(np.float64).ravel()
    if "dequantize" in layer:
        linear = layer["dequantize"]
        scale, bias = (1 / 255, 0) if linear.get("standard") == "[0,1]" else (linear["scale"], linear["bias"])
        values = values * scale + bias
    if layer.get("activation") == "softmax":
        values = np.exp(values - values.max())
        values /= values.sum()
    return values


def main(binary, models):
    core = ov.Core()
    failed = False
    print(f"{'model':34} {'input':8} {'classes':>7} {'largest difference':>18}  allowed")
    for bundle in sorted(pathlib.Path(models).iterdir()):
        manifest = json.loads((bundle / "model.json").read_text())
        source, target = manifest["inputs"][0], manifest["outputs"][0]
        height, width, _ = source["shape"]
        model = core.read_model(bundle / manifest["model"]["file"])
        if model.is_dynamic():
            model.reshape([1, *list(model.inputs[0].partial_shape)[1:]])
        compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        element_type = TYPES[source.get("dtype", "float32")]
        with tempfile.TemporaryDirectory() as folder:
            made = list(pictures(width, height, folder, np.random.default_rng(SEED)))
            classes = int(np.prod(compiled.outputs[0].shape))
            answers = subprocess.run(
                [binary, "classify", "--models", models, "--model", bundle.name, "--top", str(classes), "--json",
                 "--integer-weights=false"]
                + [str(path) for path, _ in made],
                check=True, capture_output=True, text=True).stdout.splitlines()
        worst = 0.0
        for (_, pixels), answer in zip(made, answers, strict=True):
            expected = scores(compiled(tensor(pixels, source, element_type))[0], target)
            found = np.full(classes, np.nan)
            for entry in json.loads(answer)["classifications"]:
                found[entry["index"]] = entry["confidence"]
            if np.isnan(found).any():
                raise SystemExit(f"compare-scores: {bundle.name}: a class is missing from the answer")
            worst = max(worst, float(np.abs(found - expected).max()))
        # Ocelli writes 32-bit floats in the fewest digits: equal means equal after rounding to 32 bits.
        integer = element_type in (np.uint8, np.int8)
        allowed = 6e-8 if integer else 1e-5
        failed |= worst > allowed
        verdict = "equal" if integer else "1e-5"
        print(f"{bundle.name:34} {source.get('dtype', 'float32'):8} {classes:7} {worst:18.1e}  {verdict}"
              + ("  FAILED" if worst > allowed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

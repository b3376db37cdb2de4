"""Serves cases with the real program and asks for their answers: folders of models in turn, two daemons at a time."""

import concurrent.futures
import dataclasses
import json
import pathlib
import sys
import tempfile

import ml_dtypes
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Operations"))
import wire  # noqa: E402
from daemon import LOADED, Daemon  # noqa: E402

# Models of one daemon: each takes threads and megabytes.
FOLDER = 48
DATATYPES = {"float32": "FP32", "float16": "FP16", "float64": "FP64", "bfloat16": "BF16", "int8": "INT8", "uint8": "UINT8", "int16": "INT16", "uint16": "UINT16",
             "int32": "INT32", "uint32": "UINT32", "int64": "INT64", "uint64": "UINT64", "bool": "BOOL"}
DTYPES = {name: ml_dtypes.bfloat16 if dtype == "bfloat16" else numpy.dtype(dtype) for dtype, name in DATATYPES.items()}
ENDINGS = {"ONNX": ".onnx", "TF Lite": ".tflite"}


@dataclasses.dataclass
class Result:
    """`answer`: the outputs of a status 200. `refusal`: else, with who refused: "load" or "request"."""

    listing: dict
    answer: list | None = None
    refusal: tuple[str, str] | None = None
    status: int = 0


def serve(cases, program, work):
    """The result of each case, by its name."""
    folders = [cases[first : first + FOLDER] for first in range(0, len(cases), FOLDER)]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda numbered: serve_folder(*numbered, program, work), enumerate(folders)):
            results.update(found)
    return results


def serve_folder(number, cases, program, work):
    folder = pathlib.Path(work) / f"models-{number}"
    folder.mkdir()
    for case in cases:
        (folder / (case.name + ENDINGS[case.format])).write_bytes(case.model)
    with tempfile.TemporaryDirectory(dir=work) as cache:
        daemon = Daemon(["--listen", "127.0.0.1:0", "--models", str(folder)], {"XDG_CACHE_HOME": cache}, program=program, ready=LOADED, seconds=600)
        try:
            listing = {model["name"]: model for model in daemon.ask("GET", "/v1/models").json["models"]}
            results = {}
            for case in cases:
                results[case.name] = ask(daemon, case, listing.get(case.name, {}))
                if not daemon.is_running():
                    raise SystemExit(f"the daemon ended at {case.key}:\n{daemon.log[-4000:]}")
            return results
        finally:
            daemon.stop()


def ask(daemon, case, listing):
    if listing.get("state") != "ready":
        return Result(listing, refusal=("load", listing.get("reason", "the model is not listed")))
    head = {"inputs": [], "outputs": [{"name": name, "parameters": {"binary_data": True}} for name in case.outputs]}
    body = b""
    for name, value in case.inputs.items():
        raw = numpy.ascontiguousarray(value).tobytes()
        head["inputs"].append({"name": name, "shape": list(value.shape), "datatype": DATATYPES[value.dtype.name], "parameters": {"binary_data_size": len(raw)}})
        body += raw
    text = json.dumps(head).encode()
    answer = daemon.ask("POST", f"/v2/models/{case.name}/infer", text + body, [("Inference-Header-Content-Length", str(len(text)))])
    if answer.status != 200:
        return Result(listing, refusal=("request", answer.json["error"]), status=answer.status)
    return Result(listing, answer=tensors(answer, case.outputs), status=200)


def tensors(answer, names):
    length = int(answer.fields.get("inference-header-content-length", len(answer.body)))
    head, rest, found = json.loads(answer.body[:length]), answer.body[length:], {}
    for output in head["outputs"]:
        dtype, size = DTYPES[output["datatype"]], output["parameters"]["binary_data_size"]
        found[output["name"]] = numpy.frombuffer(rest[:size], dtype).reshape(output["shape"])
        rest = rest[size:]
    return [found[name] for name in names]

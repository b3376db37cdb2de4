"""Drives a running Ocelli with the bodies that TensorFlow Serving's and KServe's clients write: those of `requests`, and of KServe's own
classes where its package is there. The answers are compared with what the model gives over the Open Inference Protocol.

Usage: tfserving_client.py URL MODEL PICTURE
"""

import base64
import json
import sys

import numpy as np
import requests


def main():
    url, model, picture = sys.argv[1:]
    with open(picture, "rb") as file:
        encoded = base64.b64encode(file.read()).decode()
    described = requests.get(f"{url}/v2/models/{model}").json()
    name, shape = described["inputs"][0]["name"], described["inputs"][0]["shape"]

    # As a client waits for a model: MLServer's, TensorFlow Serving's and KServe's ways.
    status = requests.get(f"{url}/v1/models/{model}").json()
    assert status["ready"] is True
    assert status["model_version_status"][0]["state"] == "AVAILABLE", status
    assert status["model_version_status"][0]["status"] == {"error_code": "OK", "error_message": ""}, status

    signature = requests.get(f"{url}/v1/models/{model}/metadata").json()
    definition = signature["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert definition["inputs"][name]["dtype"] == "DT_FLOAT", definition
    dims = [int(dim["size"]) for dim in definition["inputs"][name]["tensor_shape"]["dim"]]
    assert dims == [-1] + shape[1:], (dims, shape)

    # Arrays as numpy.tolist() writes them, with what is no JSON: Python's json writes NaN and Infinity.
    batch = np.random.default_rng(1).normal(size=[2] + shape[1:]).astype(np.float32)
    wanted = []
    for item in batch:
        body = {"inputs": [{"name": name, "datatype": "FP32", "shape": [1] + shape[1:], "data": item.flatten().tolist()}]}
        wanted.append(requests.post(f"{url}/v2/models/{model}/infer", json=body).json()["outputs"][0]["data"])
    for body, member in (({"instances": batch.tolist()}, "predictions"), ({"inputs": batch.tolist()}, "outputs"),
                         ({"signature_name": "serving_default", "instances": [{name: x} for x in batch.tolist()]}, "predictions"),
                         ({"inputs": {name: batch.tolist()}}, "outputs")):
        answer = requests.post(f"{url}/v1/models/{model}:predict", data=json.dumps(body))
        assert answer.status_code == 200, answer.text
        assert list(answer.json()) == [member]
        np.testing.assert_array_equal(np.float32(answer.json()[member]), np.float32(wanted))
    batch[0].flat[0] = np.nan
    answer = requests.post(f"{url}/v1/models/{model}:predict", data=json.dumps({"instances": batch[:1].tolist()}))
    assert answer.status_code == 200, answer.text

    # Pictures, alone and by name.
    one = requests.post(f"{url}/v1/models/{model}:predict", json={"instances": [{"b64": encoded}]}).json()["predictions"]
    two = requests.post(f"{url}/v1/models/{model}:predict", json={"instances": [{name: {"b64": encoded}}] * 2}).json()["predictions"]
    assert two == one + one
    error = requests.post(f"{url}/v1/models/{model}:predict", json={"instances": [["x"]]})
    assert error.status_code == 400 and isinstance(error.json()["error"], str), error.text

    # Amazon SageMaker's client, without its signature: bytes in, bytes out.
    assert requests.get(f"{url}/ping").status_code == 200
    answer = requests.post(f"{url}/invocations", data=json.dumps({"instances": [{"b64": encoded}]}), headers={
        "Content-Type": "application/json", "Accept": "application/json",
        "X-Amzn-SageMaker-Custom-Attributes": f"tfs-model-name={model},tfs-method=predict"})
    assert answer.json()["predictions"] == one, answer.text
    answer = requests.post(f"{url}/invocations", data=base64.b64decode(encoded), headers={
        "Content-Type": "application/x-image", "Accept": "application/json"})
    assert answer.json()["classifications"], answer.text
    print("ok", int(np.argmax(one[0])))


main()

"""Drives a running Ocelli with the clients that other servers' own packages bring: KServe's (versions 1 and 2), SageMaker's of local
mode, DeepStack's (Home Assistant's) and CodeProject.AI's, and with the request that Vertex AI's LocalEndpoint sends. The answers are
compared with those of the Open Inference Protocol and of /v1/detect.

Usage: servers_client.py URL MODEL PICTURE; the daemon has the dialects tfserving, sagemaker, vertex and deepstack,
AIP_PREDICT_ROUTE=/predict, the detectors of Tests/Fixtures/detectors, and a model "face".
"""

import asyncio
import base64
import json
import logging
import sys
import urllib.parse

import httpx
import numpy as np
import requests
from codeprojectai.core import CodeProjectAIFace, CodeProjectAIObject
from deepstack.core import DeepstackFace, DeepstackObject, DeepstackScene
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig
from sagemaker.local.local_session import LocalSagemakerRuntimeClient

logging.disable(logging.WARNING)


async def kserve(url, model, encoded):
    first, second = (InferenceRESTClient(RESTConfig(protocol=version)) for version in ("v1", "v2"))
    described = requests.get(f"{url}/v2/models/{model}").json()
    name, shape = described["inputs"][0]["name"], described["inputs"][0]["shape"]
    # An open batch has one row here.
    values = np.random.default_rng(1).normal(size=[1] + shape[1:]).astype(np.float32)

    assert await first.is_model_ready(url, model) and await second.is_model_ready(url, model)
    assert await second.is_server_live(url) and await second.is_server_ready(url)
    assert not await second.is_model_ready(url, "nothing")

    wanted = None
    for binary in False, True:
        tensor = InferInput(name, list(values.shape), "FP32")
        tensor.set_data_from_numpy(values, binary_data=binary)
        answer = await second.infer(url, InferRequest(model, [tensor]), model_name=model)
        found = answer.outputs[0].as_numpy().reshape(-1)
        assert answer.model_name == model and (wanted is None or (found == wanted).all())
        wanted = found
    answer = await first.infer(url, {"instances": values.tolist()}, model_name=model)
    np.testing.assert_array_equal(np.float32(answer["predictions"][0]), wanted)
    answer = await first.infer(url, {"instances": [{"b64": encoded}]}, model_name=model)
    for client, data in (first, {"instances": [["x"]]}), (second, {"inputs": []}):
        try:
            await client.infer(url, data, model_name=model)
            raise AssertionError("no error")
        except httpx.HTTPStatusError as error:
            # It begins with the reason: the member "error" of the answer.
            assert error.response.status_code == 400 and str(error).startswith(error.response.json()["error"]), error
    return answer["predictions"]


def sagemaker(url, model, encoded):
    place = urllib.parse.urlsplit(url)
    client = LocalSagemakerRuntimeClient({"local": {"serving_port": place.port}})

    def invoke(body, kind, attributes=None):
        answer = client.invoke_endpoint(body, "endpoint", kind, "application/json", CustomAttributes=attributes)["Body"]
        assert answer.status == 200, answer.data
        return json.loads(answer.data)

    instances = json.dumps({"instances": [{"b64": encoded}]})
    assert invoke(base64.b64decode(encoded), "application/x-image")["classifications"]
    return invoke(instances, "application/json", f"tfs-model-name={model}")["predictions"]


def vertex(url, encoded):
    # google/cloud/aiplatform/prediction/local_endpoint.py: requests.post() with text has no content type.
    body = json.dumps({"instances": [{"b64": encoded}], "parameters": {}})
    answer = requests.post(url + "/predict", data=body, headers=None)
    assert answer.status_code == 200, answer.text
    return answer.json()["predictions"]


def cameras(url, picture):
    place = urllib.parse.urlsplit(url)
    there = {"ip": place.hostname, "port": place.port}
    for name, clients in {
        "case00": [DeepstackObject(**there), CodeProjectAIObject(**there), DeepstackObject(custom_model="case00", **there)],
        "face": [DeepstackFace(**there), CodeProjectAIFace(**there)],
    }.items():
        # Their own least confidence.
        wanted = requests.post(f"{url}/v1/models/{name}/detect?threshold=0.45", data=picture).json()["detections"]
        assert wanted, name
        for client in clients:
            found = client.detect(picture)
            assert [(one["label"], one["confidence"]) for one in found] == [(one["label"], one["confidence"]) for one in wanted]
            assert all(abs(one["x_min"] - box["box"]["x"]) <= 0.5 for one, box in zip(found, wanted)), found
    return DeepstackScene(**there).recognize(picture)["label"]


def main():
    url, model, picture = sys.argv[1:]
    # SageMaker's client and requests' certificate are for "localhost".
    url = url.replace("127.0.0.1", "localhost")
    with open(picture, "rb") as file:
        data = file.read()
    encoded = base64.b64encode(data).decode()
    one = asyncio.run(kserve(url, model, encoded))
    assert sagemaker(url, model, encoded) == one
    assert vertex(url, encoded) == one
    assert cameras(url, data) == str(int(np.argmax(one[0])))
    print("ok", int(np.argmax(one[0])))


main()

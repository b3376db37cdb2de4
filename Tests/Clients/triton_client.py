"""Drives a running Ocelli with NVIDIA's own client, as any user of Triton has it.

Usage: triton_client.py HOST:PORT FOLDER, where the daemon serves FOLDER/models and FOLDER/tensorio/tflite.
"""

import sys

import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException


def tensor(name, array, binary=True):
    kind = {"float32": "FP32", "float16": "FP16", "uint8": "UINT8", "int8": "INT8", "object": "BYTES"}[str(array.dtype)]
    result = http.InferInput(name, list(array.shape), kind)
    result.set_data_from_numpy(array, binary_data=binary)
    return result


def refused(call, status, *words):
    try:
        call()
    except InferenceServerException as error:
        assert error.status() == str(status), (error.status(), error.message())
        for word in words:
            assert word in error.message(), (word, error.message())
    else:
        raise AssertionError(f"expected {status}")


def health_and_metadata(client):
    assert client.is_server_live()
    assert client.is_model_ready("cifar10_resnet_float")
    assert client.is_model_ready("cifar10_resnet_float", "1")
    assert not client.is_model_ready("nothing")
    server = client.get_server_metadata()
    assert server["name"] == "ocelli" and "binary_tensor_data" in server["extensions"], server
    model = client.get_model_metadata("cifar10_cnn_onnx")
    assert model["inputs"] == [{"name": "modelInput", "datatype": "FP32", "shape": [-1, 3, 32, 32]}], model
    assert model["outputs"] == [{"name": "modelOutput", "datatype": "FP32", "shape": [-1, 10]}], model
    assert client.get_model_metadata("mobilenet_v2_1.0_224_quant")["inputs"][0]["datatype"] == "UINT8"


def configuration(client):
    """In the form that clients of Triton read."""
    config = client.get_model_config("cifar10_cnn_onnx")
    assert (config["name"], config["platform"]) == ("cifar10_cnn_onnx", "onnx_onnxv1"), config
    assert config["max_batch_size"] > 1, config
    assert config["input"] == [{"name": "modelInput", "data_type": "TYPE_FP32", "dims": [3, 32, 32]}], config
    assert config["output"] == [{"name": "modelOutput", "data_type": "TYPE_FP32", "dims": [10]}], config
    config = client.get_model_config("2_in_2_out_vectors_test", "1")
    metadata = client.get_model_metadata("2_in_2_out_vectors_test")
    batch_axes = 1 if config["max_batch_size"] else 0
    for mine, theirs in (("input", "inputs"), ("output", "outputs")):
        assert [(t["name"], t["dims"]) for t in config[mine]] == [
            (t["name"], t["shape"][batch_axes:]) for t in metadata[theirs]], (config, metadata)
    assert client.get_model_config("mobilenet_v2_1.0_224_quant")["input"][0]["data_type"] == "TYPE_UINT8"
    refused(lambda: client.get_model_config("nothing"), 404, "nothing")


def json_and_binary(client):
    """JSON and binary data, both ways."""
    first = np.array([[1, 2, 3, 4]], np.float32)
    second = first * 10
    for binary_in in (True, False):
        for binary_out in (True, False):
            answer = client.infer(
                "2_in_2_out_vectors_test",
                [tensor("input1", first, binary_in), tensor("input2", second, not binary_in)],
                outputs=[http.InferRequestedOutput("output2", binary_out), http.InferRequestedOutput("output1")],
                request_id="42", priority=1, timeout=30_000_000)
            assert answer.get_response()["id"] == "42"
            assert [output["name"] for output in answer.get_response()["outputs"]] == ["output2", "output1"]
            assert answer.as_numpy("output1") == [[240]] and answer.as_numpy("output2") == [[64]]
    everything = client.infer("2_in_2_out_vectors_test", [tensor("input1", first), tensor("input2", second)])
    assert everything.as_numpy("output1").shape == (1, 1)
    subset = client.infer(
        "2_in_2_out_vectors_test", [tensor("input1", first), tensor("input2", second)],
        outputs=[http.InferRequestedOutput("output1")])
    assert subset.as_numpy("output2") is None


def batches(client, batch):
    """Each item of a batch gives what it gives alone, also without waiting."""
    together = client.infer("cifar10_cnn_onnx", [tensor("modelInput", batch)]).as_numpy("modelOutput")
    assert together.shape == (5, 10)
    for item, row in zip(batch, together):
        alone = client.infer("cifar10_cnn_onnx", [tensor("modelInput", item[None], False)]).as_numpy("modelOutput")
        assert np.array_equal(alone[0], row), (alone, row)

    waiting = [client.async_infer("cifar10_cnn_onnx", [tensor("modelInput", item[None])]) for item in batch]
    for row, request in zip(together, waiting):
        assert np.array_equal(request.get_result().as_numpy("modelOutput")[0], row)


def element_types(client):
    """16-bit floats are sent as binary data only; integers as they are."""
    half = client.infer("squeezenet_fp16", [tensor("data_0", np.zeros((1, 3, 224, 224), np.float16))])
    assert half.as_numpy("softmaxout_1").dtype == np.float16
    whole = client.infer("cifar10_resnet_int8", [tensor("input_1_int8", np.zeros((1, 32, 32, 3), np.int8), False)])
    assert whole.as_numpy("Identity_int8").dtype == np.int8


def encoded_pictures(client, folder):
    """Encoded pictures, and classes."""
    pictures = [open(f"{folder}/images/{name}", "rb").read() for name in ("owl.jpg", "tio_cat.jpg")]

    def classes(array, count, binary=True):
        output = http.InferRequestedOutput("Identity", binary, class_count=count)
        result = client.infer("cifar10_resnet_float", [tensor("input_1", array)], outputs=[output]).as_numpy("Identity")
        texts = [text.decode() if isinstance(text, bytes) else text for text in result.ravel()]
        return result.shape, [(float(value), int(index), label) for value, index, label in
                              (text.split(":", 2) for text in texts)]

    shape, found = classes(np.array([pictures[0]], object), 5)
    assert shape == (1, 5) and found[0][1:] == (2, "bird") and abs(found[0][0] - 0.945) < 0.05, found
    assert [value for value, _, _ in found] == sorted((value for value, _, _ in found), reverse=True)
    shape, found = classes(np.array([[picture] for picture in pictures], object), 1, binary=False)
    assert shape == (2, 1) and [label for _, _, label in found] == ["bird", "cat"], found
    plain = client.infer("cifar10_resnet_float", [tensor("input_1", np.array([pictures[1]], object))])
    assert plain.as_numpy("Identity").argmax() == 3


def compressed(client, batch):
    """What is sent compressed gives the same."""
    plain = client.infer("cifar10_cnn_onnx", [tensor("modelInput", batch)]).as_numpy("modelOutput")
    for algorithm in ("gzip", "deflate"):
        for binary in (True, False):
            answer = client.infer(
                "cifar10_cnn_onnx", [tensor("modelInput", batch, binary)],
                request_compression_algorithm=algorithm, response_compression_algorithm=algorithm)
            assert np.array_equal(answer.as_numpy("modelOutput"), plain), (algorithm, binary)


def errors(client, batch):
    one = [tensor("modelInput", batch[:1])]
    refused(lambda: client.infer("nothing", one), 404, "nothing")
    refused(lambda: client.infer("cifar10_cnn_onnx", one, model_version="7"), 404, "7")
    refused(lambda: client.infer("cifar10_cnn_onnx", [tensor("input", batch)]), 400, '"input"', '"modelInput"')
    refused(lambda: client.infer("cifar10_cnn_onnx", [tensor("modelInput", batch[:, :, 1:])]), 400, "[-1,3,32,32]", "[5,3,31,32]")
    refused(lambda: client.infer("cifar10_cnn_onnx", [tensor("modelInput", batch.astype(np.float16))]), 400, "FP32", "FP16")
    refused(lambda: client.infer("2_in_2_out_vectors_test", [tensor("input1", np.array([[1, 2, 3, 4]], np.float32))]), 400, '"input2"', "missing")
    refused(lambda: client.infer("cifar10_cnn_onnx", one, outputs=[http.InferRequestedOutput("y")]), 400, '"y"')
    refused(lambda: client.infer("cifar10_resnet_float", [tensor("input_1", np.array([b"not a picture"], object))]), 415)
    refused(lambda: client.infer("cifar10_cnn_onnx", one, sequence_id=3, sequence_start=True), 400, "sequence")
    refused(lambda: client.get_model_metadata("nothing"), 404)


def repository(client, batch):
    one = [tensor("modelInput", batch[:1])]
    index = {entry["name"]: entry for entry in client.get_model_repository_index()}
    assert index["cifar10_cnn_onnx"]["state"] == "READY", index
    assert index["invalid-model-bad-json"]["state"] == "UNAVAILABLE" and index["invalid-model-bad-json"]["reason"]
    client.unload_model("cifar10_cnn_onnx")
    assert not client.is_model_ready("cifar10_cnn_onnx")
    refused(lambda: client.infer("cifar10_cnn_onnx", one), 503, "unloaded")
    client.load_model("cifar10_cnn_onnx")
    assert client.is_model_ready("cifar10_cnn_onnx")
    assert client.infer("cifar10_cnn_onnx", one).as_numpy("modelOutput").shape == (1, 10)
    refused(lambda: client.load_model("nothing"), 404)
    refused(lambda: client.load_model("cifar10_cnn_onnx", config="{}"), 400, "config")


def statistics(client):
    done = client.get_inference_statistics("cifar10_cnn_onnx")["model_stats"][0]
    assert done["inference_count"] == 1 and done["inference_stats"]["success"]["ns"] > 0, done
    assert done["last_inference"] > 1_600_000_000_000
    assert len(client.get_inference_statistics()["model_stats"]) > 5


def main(address, folder):
    client = http.InferenceServerClient(address, concurrency=4)
    batch = np.random.default_rng(7).standard_normal((5, 3, 32, 32)).astype(np.float32)
    health_and_metadata(client)
    configuration(client)
    json_and_binary(client)
    batches(client, batch)
    element_types(client)
    encoded_pictures(client, folder)
    compressed(client, batch)
    errors(client, batch)
    repository(client, batch)
    statistics(client)
    print("ok")


main(*sys.argv[1:])

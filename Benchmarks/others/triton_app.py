"""Triton, as the nvidia-pytriton wheel has it: its server in front, a worker process for each processor with one engine thread each."""
import json
import os

import numpy
from classifier import THREADS, Classifier

from pytriton.model_config import DynamicBatcher, ModelConfig, QueuePolicy, Tensor
from pytriton.triton import Triton, TritonConfig

LIMIT = int(os.environ.get("OTHERS_LIMIT", 0))

class Infer:
    def __init__(self):
        self.classifier = None

    def __call__(self, requests):
        # Each copy of this runs in a process of its own.
        self.classifier = self.classifier or Classifier(hint="LATENCY", threads=1)
        answers = []
        for request in requests:
            answer = json.dumps(self.classifier.classify(request["picture"].reshape(-1)[0]))
            answers.append({"classifications": numpy.array([answer.encode()], dtype=numpy.bytes_)})
        return answers

if __name__ == "__main__":
    port = int(os.environ["OTHERS_PORT"])
    policy = QueuePolicy(max_queue_size=LIMIT) if LIMIT else None
    config = TritonConfig(http_port=port, http_address="127.0.0.1", grpc_port=port + 1, metrics_port=port + 2, log_verbose=0)
    with Triton(config=config) as triton:
        triton.bind(
            model_name="m", infer_func=[Infer() for _ in range(THREADS)],
            inputs=[Tensor(name="picture", dtype=bytes, shape=(1,))], outputs=[Tensor(name="classifications", dtype=bytes, shape=(1,))],
            config=ModelConfig(batching=False))
        triton.serve()

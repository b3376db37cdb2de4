"""LitServe: FastAPI in front, a worker process for each processor with one engine thread each."""
import os

import litserve
from classifier import THREADS, Classifier


class Infer(litserve.LitAPI):
    def setup(self, device):
        self.classifier = Classifier(hint="LATENCY", threads=1)

    def decode_request(self, request):
        return request["image"].file.read()

    def predict(self, data):
        return self.classifier.classify(data)


if __name__ == "__main__":
    server = litserve.LitServer(Infer(api_path="/classify"), accelerator="cpu", workers_per_device=THREADS)
    server.run(host="127.0.0.1", port=int(os.environ["OTHERS_PORT"]), log_level="warning", access_log=False, generate_client_file=False)

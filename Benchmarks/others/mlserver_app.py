"""MLServer: the Open Inference Protocol, a worker process for each processor with one engine thread each. Run as a program, writes its
settings into a folder and starts it."""
import json
import os
import pathlib
import sys

from classifier import THREADS, Classifier
from mlserver import MLModel
from mlserver.codecs import Base64Codec, StringCodec
from mlserver.types import InferenceRequest, InferenceResponse


class Infer(MLModel):
    async def load(self):
        self.classifier = Classifier(hint="LATENCY", threads=1)
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        data = Base64Codec.decode_input(payload.inputs[0])[0]
        answer = json.dumps(self.classifier.classify(data))
        return InferenceResponse(model_name=self.name, outputs=[StringCodec.encode_output("classifications", [answer])])


if __name__ == "__main__":
    here, folder = pathlib.Path(__file__).resolve().parent, pathlib.Path("mlserver")
    folder.mkdir(exist_ok=True)
    port = int(os.environ["OTHERS_PORT"])
    (folder / "settings.json").write_text(json.dumps({
        "host": "127.0.0.1", "http_port": port, "grpc_port": port + 1, "metrics_port": port + 2, "parallel_workers": THREADS, "debug": False}))
    (folder / "model-settings.json").write_text(json.dumps({"name": "m", "implementation": "mlserver_app.Infer"}))
    os.environ["PYTHONPATH"] = str(here)
    os.execv(pathlib.Path(sys.executable).parent / "mlserver", ["mlserver", "start", str(folder)])

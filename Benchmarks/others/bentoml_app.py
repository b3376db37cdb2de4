"""BentoML: a worker process for each processor with one engine thread each; the picture is the whole body."""
import os
import pathlib
from typing import Annotated

import bentoml
from bentoml.validators import ContentType
from classifier import THREADS, Classifier

LIMIT = int(os.environ.get("OTHERS_LIMIT", 0))


@bentoml.service(workers=THREADS, traffic={"timeout": 30} | ({"max_concurrency": LIMIT} if LIMIT else {}))
class Infer:
    def __init__(self):
        self.classifier = Classifier(hint="LATENCY", threads=1)

    @bentoml.api(route="/classify")
    def classify(self, picture: Annotated[pathlib.Path, ContentType("image/jpeg")], /) -> dict:
        return self.classifier.classify(picture.read_bytes())

"""The reference of `run --fastapi`: a service that a careful user would write. Decoding and inference happen in worker threads, models
are compiled once, an infer request belongs to each thread."""
import os
import threading

import cv2
import numpy as np
import openvino
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool

core = openvino.Core()
settings = {"PERFORMANCE_HINT": "THROUGHPUT"}
detector = core.compile_model(os.environ["DETECTOR"], "CPU", settings)
classifier = core.compile_model(os.environ["CLASSIFIER"], "CPU", settings)
local = threading.local()
app = FastAPI()


def infer(model, name, tensor):
    if not hasattr(local, name):
        setattr(local, name, model.create_infer_request())
    return next(iter(getattr(local, name).infer([tensor], share_inputs=True, share_outputs=False).values()))


def look(body, threshold):
    picture = cv2.cvtColor(cv2.imdecode(np.frombuffer(body, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    height, width, _ = picture.shape
    small = cv2.resize(picture, (32, 32), interpolation=cv2.INTER_AREA).astype(np.float32).transpose(2, 0, 1)[None] / 255
    found = []
    for row in infer(detector, "detector", small)[0]:
        if row[4] < max(threshold, 0.005):
            continue
        left, top, right, bottom = (row[:4] * [width, height, width, height]).clip(0, [width, height, width, height])
        crop = picture[int(top):int(np.ceil(bottom)), int(left):int(np.ceil(right))]
        side = min(crop.shape[:2])
        y, x = (crop.shape[0] - side) // 2, (crop.shape[1] - side) // 2
        view = cv2.resize(crop[y:y + side, x:x + side], (224, 224), interpolation=cv2.INTER_AREA)
        scores = infer(classifier, "classifier", view.astype(np.float32)[None] / 127.5 - 1)[0]
        best = int(scores.argmax())
        found.append({
            "index": int(row[5]), "confidence": float(row[4]),
            "box": {"x": float(left), "y": float(top), "width": float(right - left), "height": float(bottom - top)},
            "kind": {"classifications": [{"index": best, "confidence": float(scores[best])}]}})
    return {"detections": found}


@app.post("/detect")
async def detect(request: Request, threshold: float = 0):
    return await run_in_threadpool(look, await request.body(), threshold)


@app.get("/health")
async def health():
    return {}

"""A home-made FastAPI service round RapidOCR: uvicorn's fast loop and parser, a process for each worker, one page at a time in each."""
import asyncio
import io
import os
from concurrent.futures import ThreadPoolExecutor

import numpy
import uvicorn
from fastapi import FastAPI, Request
from PIL import Image

app = FastAPI()
state = {}


@app.on_event("startup")
def load():
    import reference
    state["read"] = reference.reader(os.environ["READ_GENERATION"], int(os.environ["READ_THREADS"]), os.environ["READ_ENGINE"])
    state["pool"] = ThreadPoolExecutor(1)


def read(body):
    picture = numpy.asarray(Image.open(io.BytesIO(body)).convert("RGB"))[:, :, ::-1].copy()
    return [{"text": text, "confidence": score, "points": corners} for text, score, corners in state["read"](picture)]


@app.post("/v1/read")
async def answer(request: Request):
    body = await request.body()
    return {"lines": await asyncio.get_running_loop().run_in_executor(state["pool"], read, body)}


if __name__ == "__main__":
    uvicorn.run(
        "fastapi_app:app", app_dir=os.path.dirname(os.path.abspath(__file__)), host="127.0.0.1", port=int(os.environ["READ_PORT"]),
        workers=int(os.environ["READ_WORKERS"]), log_level="warning", access_log=False)

"""A home-made FastAPI service: uvicorn's fast loop and parser, one process, a pool of threads for the work."""
import os

import uvicorn
from anyio.to_thread import current_default_thread_limiter, run_sync
from classifier import THREADS, Classifier
from fastapi import FastAPI, Request

app = FastAPI()
classifier = Classifier()


@app.on_event("startup")
async def bound():
    current_default_thread_limiter().total_tokens = 2 * THREADS


@app.post("/v1/classify")
async def classify(request: Request):
    return await run_sync(classifier.classify, await request.body())


uvicorn.run(app, host="127.0.0.1", port=int(os.environ["OTHERS_PORT"]), log_level="warning", access_log=False)

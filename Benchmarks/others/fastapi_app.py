"""A home-made FastAPI service: uvicorn's fast loop and parser; one process with a pool of threads, or a process a processor."""
import os

import uvicorn
from anyio.to_thread import current_default_thread_limiter, run_sync
from classifier import THREADS, Classifier
from fastapi import FastAPI, Request

WORKERS = int(os.environ.get("OTHERS_WORKERS", 1))
LIMIT = int(os.environ.get("OTHERS_LIMIT", 0))
app = FastAPI()


@app.on_event("startup")
async def load():
    # In each worker, not in the process that starts them.
    app.state.classifier = Classifier(threads=max(1, THREADS // WORKERS))
    current_default_thread_limiter().total_tokens = max(2, 2 * THREADS // WORKERS)


@app.post("/v1/classify")
async def classify(request: Request):
    return await run_sync(app.state.classifier.classify, await request.body())


if __name__ == "__main__":
    uvicorn.run(
        "fastapi_app:app", app_dir=os.path.dirname(os.path.abspath(__file__)), host="127.0.0.1",
        port=int(os.environ["OTHERS_PORT"]), workers=WORKERS, limit_concurrency=LIMIT // WORKERS or None, log_level="warning", access_log=False)

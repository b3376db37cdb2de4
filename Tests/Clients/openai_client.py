"""Drives a running Ocelli with OpenAI's own package: texts, pictures, both encodings, errors, and the client for asyncio.

Usage: openai_client.py URL WORDS; the daemon has the dialect openai, --max-batch 4, and the models clip-split and sentence-mean of the folder
WORDS, whose cases.json has the expected vectors.
"""

import asyncio
import base64
import json
import pathlib
import sys

import numpy as np
from openai import AsyncOpenAI, BadRequestError, NotFoundError, OpenAI

LIMIT = 1e-4


def near(found, case):
    wanted = case.get("embedding_of_length_1") or case["embedding"]
    np.testing.assert_allclose(np.asarray(found, np.float32), wanted, atol=LIMIT)


def texts(client, cases, model):
    for case in cases:
        # Without encoding_format the package asks for base64 and decodes it.
        answer = client.embeddings.create(model=model, input=case["text"])
        assert answer.object == "list" and answer.model == model and len(answer.data) == 1, answer
        assert answer.data[0].object == "embedding" and answer.data[0].index == 0
        near(answer.data[0].embedding, case)
        assert answer.usage.prompt_tokens == answer.usage.total_tokens == case["tokens"], (answer.usage, case)
    several = cases[:4]
    for encoding in "float", "base64":
        answer = client.embeddings.create(
            model=model, input=[case["text"] for case in several], encoding_format=encoding, user="somebody")
        assert [one.index for one in answer.data] == list(range(len(several)))
        for case, one in zip(several, answer.data):
            vector = one.embedding
            assert isinstance(vector, str) == (encoding == "base64"), "an encoding that was asked for is not decoded"
            near(np.frombuffer(base64.b64decode(vector), "<f4") if encoding == "base64" else vector, case)
        assert answer.usage.total_tokens == sum(case["tokens"] for case in several)


def pictures(client, words, cases, text):
    url = lambda name: "data:image/png;base64," + base64.b64encode((words / "pictures" / name).read_bytes()).decode()
    answer = client.embeddings.create(model="clip-split", input=[text["text"], *({"image": url(case["picture"])} for case in cases)])
    for case, one in zip([text, *cases], answer.data, strict=True):
        near(one.embedding, case)
    assert answer.usage.prompt_tokens == text["tokens"]


def refused(kind, words, ask):
    try:
        ask()
    except kind as error:
        # The sentence is the member "error" of the answer: the package has it as the body; its message states the status alone.
        assert error.body == error.response.json()["error"] and words in error.body, error
        assert error.response.json()["code"] and error.request_id == error.response.json()["request_id"], error
        return
    raise AssertionError(f"no error: {words}")


def errors(client):
    create = client.embeddings.create
    refused(NotFoundError, "nothing", lambda: create(model="nothing", input="a"))
    refused(BadRequestError, "token ids", lambda: create(model="clip-split", input=[1, 2, 3]))
    refused(BadRequestError, "token ids", lambda: create(model="clip-split", input=[[1, 2], [3]]))
    refused(BadRequestError, "dimensions", lambda: create(model="clip-split", input="a", dimensions=8))
    refused(BadRequestError, "max_batch", lambda: create(model="clip-split", input=["a"] * 5))
    refused(BadRequestError, "fetches nothing", lambda: create(model="clip-split", input=[{"image": "https://example.com/cat.jpg"}]))
    refused(BadRequestError, "unknown member", lambda: create(model="clip-split", input="a", extra_body={"truncate": "END"}))


async def later(url, case):
    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        answers = await asyncio.gather(*(client.embeddings.create(model="clip-split", input=case["text"]) for _ in range(8)))
    for answer in answers:
        near(answer.data[0].embedding, case)


def main():
    url, words = sys.argv[1] + "/v1", pathlib.Path(sys.argv[2])
    cases = json.loads((words / "cases.json").read_text())
    own = {key: [case for case in cases[key] if case["model"] == model]
           for key, model in (("texts", "clip-split"), ("pictures", "clip-split"), ("sentences", "sentence-mean"))}
    with OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        texts(client, own["texts"], "clip-split")
        texts(client, own["sentences"], "sentence-mean")
        pictures(client, words, own["pictures"][:3], own["texts"][0])
        errors(client)
    asyncio.run(later(url, own["texts"][1]))
    print("ok", len(own["texts"]) + len(own["sentences"]))


main()

"""The steps of a call, without I/O: generators that yield exchanges and waits, and receive the answers.

`Client` drives them with blocking sockets and `AsyncClient` with asyncio, so that both divide lists, wait and try again in the same way.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import random
import urllib.parse
from typing import (
    TYPE_CHECKING, Any, BinaryIO, Callable, Generator, Iterable, Iterator, Mapping, Optional, Sequence, TypeVar, Union, cast,
)

from . import _results
from ._errors import OcelliError, of_picture
from ._frame import Frame
from ._wire import Buffer, Request, Response, form, quoted

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

#: A picture: the path or URL of a file, its bytes, a binary file, or a raw frame.
Image = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryIO, Frame]
#: How pictures are stored: a number of EXIF, or a name; None for the default.
Orientation = Union[int, str, None]
#: The parameters of a route, by name.
Query = Mapping[str, Union[str, int, float, Sequence[Union[str, int]], None]]
Value = TypeVar("Value")
Answer = TypeVar("Answer")


@dataclasses.dataclass(frozen=True)
class Exchange:
    """Wanted: the answer to a request."""

    request: Request


@dataclasses.dataclass(frozen=True)
class Wait:
    """Wanted: to wait, because of an error that is raised where the call's deadline is before that."""

    seconds: float
    because: OcelliError


@dataclasses.dataclass(frozen=True)
class Read:
    """Wanted: the bytes of a picture."""

    image: Image


@dataclasses.dataclass(frozen=True)
class Revive:
    """Wanted: that the server is started again, if this client can do that."""

    because: ConnectionError


Step = Union[Exchange, Wait, Read, Revive]
Plan = Generator[Step, Any, Value]


@dataclasses.dataclass
class Limits:
    """The limits of a request to this server; lowered after the server has refused a request for its size."""

    parts: int = 64
    size: int = 16 << 20

    def lower(self, error: OcelliError, parts: int, size: int) -> bool:
        """Lowers the limit that a request of this size is over; false for an error with another cause."""
        if error.status == 400 and "max_batch" in error.message:
            self.parts = max(1, min(self.parts, parts // 2))
        elif error.code == "body_too_large":
            self.size = max(1, min(self.size, size - 1))
        else:
            return False
        return True


@dataclasses.dataclass(frozen=True)
class Task:
    """A task: its route, and how its answer is read."""

    name: str
    read: Callable[[Mapping[str, Any]], Any]
    #: Parameters that are always sent.
    query: Query = dataclasses.field(default_factory=dict)


CLASSIFY = Task("classify", _results.classified)
DETECT = Task("detect", _results.detected)
SEGMENT = Task("segment", _results.segmented)
KEYPOINTS = Task("keypoints", _results.pointed)
# Exact, and a quarter of the text.
EMBED = Task("embed", _results.embedded, {"encoding": "base64"})
READ = Task("read", _results.read)
TASKS = {task.name: task for task in (CLASSIFY, DETECT, SEGMENT, KEYPOINTS, EMBED, READ)}

# Errors that are one picture's own.
_PICTURE_CODES = {"invalid_image", "image_too_large", "unsupported_media_type", "body_too_large"}


def target(route: str, model: Optional[str], version: Optional[str], query: Query) -> str:
    """The path and query of a task's route.

    >>> target("classify", "mobilenet", None, {"top": 5, "crop": None})
    '/v1/models/mobilenet/classify?top=5'
    """
    path = "/v1/"
    if model is not None:
        path += f"models/{quoted(model)}/"
        if version is not None:
            path += f"versions/{quoted(version)}/"
    elif version is not None:
        raise ValueError("version= needs model=")
    return path + route + _encoded(query)


def read_query(
    threshold: Optional[float], find_threshold: Optional[float], top: Optional[int], characters: bool, orientation: Orientation
) -> Query:
    """The parameters of `read`."""
    return {
        "threshold": threshold, "find_threshold": find_threshold, "top": top, "characters": "true" if characters else None,
        "orientation": orientation,
    }


def checked(labels: Union[str, Sequence[str], None]) -> Sequence[str]:
    """The labels of a request; empty for the model's own."""
    if labels is None:
        return ()
    labels = [labels] if isinstance(labels, str) else list(labels)
    if not labels:
        raise ValueError("labels: expected 1 or more, found none")
    return labels


def check_embedded(images: object, text: object) -> None:
    """Raises `TypeError` unless there is either a picture or a text."""
    if (images is None) == (text is None):
        raise TypeError(f"expected a picture or text=, found {'neither' if text is None else 'both'}")


def _encoded(query: Query) -> str:
    given = {}
    for name, value in query.items():
        if value is not None:
            isList = isinstance(value, Sequence) and not isinstance(value, str)
            given[name] = ",".join(str(one) for one in cast("Sequence[object]", value)) if isList else str(value)
    return "?" + urllib.parse.urlencode(given) if given else ""


def is_one(images: object) -> bool:
    """Whether it is one picture, not several. Raises `TypeError` for other values."""
    if isinstance(images, (str, os.PathLike, bytes, bytearray, memoryview, Frame)) or hasattr(images, "read"):
        return True
    if isinstance(images, Sequence):
        return False
    if hasattr(images, "__array_interface__"):
        raise TypeError("an array of pixels is no picture: say what it has with Frame.from_array(array, \"RGB\"), or encode it")
    if hasattr(images, "__iter__"):
        return False
    raise TypeError(f"expected a path, bytes, a binary file, or several of these, found {type(images).__name__}")


def pictures(images: Union[Image, Iterable[Image]]) -> Iterator[Image]:
    """One picture or several, one after the other."""
    return iter([cast(Image, images)] if is_one(images) else cast("Iterable[Image]", images))


def read(image: Image, storage: Mapping[str, Any]) -> Buffer:
    """A picture's bytes. Blocks. `storage` are fsspec's options for URLs."""
    if isinstance(image, Frame):
        image = image.data
    if isinstance(image, (bytes, bytearray, memoryview)):
        return image.cast("B") if isinstance(image, memoryview) else image
    if isinstance(image, str) and image.startswith("file:/"):
        # As Spark and fsspec write the path of a file: nothing in it is encoded.
        image = "/" + image[len("file:"):].lstrip("/")
    if isinstance(image, str) and "://" in image:
        from . import stores

        return stores.read(image, **storage)
    if isinstance(image, (str, os.PathLike)):
        with open(image, "rb") as file:
            return file.read()
    data = image.read()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError("a picture's file must be opened in binary mode: open(name, \"rb\")")
    return data


def media_type(image: Image) -> str:
    """The type that a picture is sent with: files say themselves what they are."""
    return image.type if isinstance(image, Frame) else "application/octet-stream"


# MARK: Requests

def asked(request: Request, retries: int) -> Plan[Response]:
    """The answer to a request, a good one: tried again where the server says that it has too much to do, or was started again.

    Every request of this package may be sent twice: predictions change nothing, and an example that is known is not added again.
    """
    for attempt in range(retries + 1):
        try:
            response: Response = yield Exchange(request)
        except ConnectionError as error:
            if attempt == retries:
                raise
            yield Revive(error)
            continue
        if 200 <= response.status < 300:
            return response
        error_ = response.error()
        if response.status not in (429, 503) or attempt == retries:
            raise error_
        # Many clients are refused together: they must not come back together.
        least = 0.1 * 2 ** min(attempt, 6) if error_.retry_after is None else error_.retry_after
        yield Wait(least + random.uniform(0, 0.1 + 0.25 * least), error_)
    raise AssertionError("unreachable: the last attempt returns or raises")


def got(path: str, retries: int, take: Callable[[Any], Value]) -> Plan[Value]:
    """The answer to a GET."""
    response = yield from asked(Request("GET", path), retries)
    return take(response.json())


def drift(name: str, relearn: bool, retries: int) -> Plan[_results.Drift]:
    """A model's drift as it is, or after its reference is learned anew."""
    path = f"/v1/models/{quoted(name)}/drift"
    if not relearn:
        return got(path, retries, _results.drift)
    return _learned(path, retries)


def _learned(path: str, retries: int) -> Plan[_results.Drift]:
    body = json.dumps({"reference": "recent"}).encode()
    response = yield from asked(Request("POST", path, [body], "application/json"), retries)
    return _results.drift(response.json())


def one(task: Task, image: Image, to: str, retries: int, labels: Sequence[str] = ()) -> Plan[Any]:
    """The answer for one picture."""
    data: Buffer = yield Read(image)
    response = yield from asked(_posted(to, [(data, media_type(image))], labels), retries)
    return task.read(response.json())


def several(
    task: Task, images: Iterator[Image], to: str, retries: int, limits: Limits, labels: Sequence[str] = ()
) -> Plan[list[Any]]:
    """An answer or an error for each picture, in order, in as many requests as the limits want."""
    def taken(response: Response, count: int) -> list[Any]:
        answer = response.json()
        if count == 1 and "results" not in answer:
            return [task.read(answer)]
        request_id = str(answer.get("request_id", ""))
        return [
            of_picture(each, request_id) if "error" in each else task.read({"request_id": request_id, **each})
            for each in answer["results"]]

    return (yield from _divided(images, to, retries, limits, taken, labels))


def _posted(to: str, pictures: Sequence[tuple[Buffer, str]], labels: Sequence[str]) -> Request:
    """A request with pictures and labels: one picture alone is the body."""
    if len(pictures) == 1 and not labels:
        return Request("POST", to, [pictures[0][0]], pictures[0][1])
    return Request("POST", to, *form(pictures, labels))


def _divided(
    images: Iterator[Image], to: str, retries: int, limits: Limits, taken: Callable[[Response, int], list[Any]],
    labels: Sequence[str] = (),
) -> Plan[list[Any]]:
    found: list[Any] = []
    chunk: list[tuple[Buffer, str]] = []
    size = 0
    for image in images:
        try:
            data: Buffer = yield Read(image)
        except OSError as error:
            # The others before it come first.
            found += yield from _chunk(chunk, to, retries, limits, taken, labels)
            chunk, size = [], 0
            found.append(OcelliError(f"the picture cannot be read: {error}", code="unreadable"))
            continue
        if chunk and (len(chunk) >= limits.parts or size + len(data) > limits.size):
            found += yield from _chunk(chunk, to, retries, limits, taken, labels)
            chunk, size = [], 0
        chunk.append((data, media_type(image)))
        size += len(data)
    found += yield from _chunk(chunk, to, retries, limits, taken, labels)
    return found


def _chunk(
    chunk: Sequence[tuple[Buffer, str]], to: str, retries: int, limits: Limits, taken: Callable[[Response, int], list[Any]],
    labels: Sequence[str] = (),
) -> Plan[list[Any]]:
    """The answers for some pictures in one request; in halves where the server's limits are lower than thought."""
    if not chunk:
        return []
    try:
        response = yield from asked(_posted(to, chunk, labels), retries)
    except OcelliError as error:
        if len(chunk) == 1:
            if error.code not in _PICTURE_CODES:
                raise
            return [error]
        if limits.lower(error, len(chunk), sum(len(data) for data, _ in chunk)):
            middle = len(chunk) // 2
            first = yield from _chunk(chunk[:middle], to, retries, limits, taken, labels)
            return first + (yield from _chunk(chunk[middle:], to, retries, limits, taken, labels))
        # Teaching: none of these could be used; others may be.
        if error.status == 400 and error.code == "invalid_image":
            return [error] * len(chunk)
        raise
    answers = taken(response, len(chunk))
    if len(answers) != len(chunk):
        raise OcelliError(f"{len(answers)} answers for {len(chunk)} pictures", status=response.status, code="bad_answer")
    return answers


# MARK: Texts

def text(text: str, to: str, retries: int) -> Plan[_results.EmbedResult]:
    """The vector of a text."""
    response = yield from asked(Request("POST", to, [text.encode()], "text/plain; charset=utf-8"), retries)
    return _results.embedded(response.json())


def texts(texts: Iterable[str], to: str, retries: int, limits: Limits) -> Plan[list[_results.EmbedResult]]:
    """The vectors of texts, in order, in as many requests as the limits want."""
    found: list[_results.EmbedResult] = []
    chunk: list[bytes] = []
    size = 0
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"text: expected texts, found {type(text).__name__}")
        data = json.dumps(text, ensure_ascii=False).encode()
        if chunk and (len(chunk) >= limits.parts or size + len(data) > limits.size):
            found += yield from _texts(chunk, to, retries, limits)
            chunk, size = [], 0
        chunk.append(data)
        size += len(data)
    return found + (yield from _texts(chunk, to, retries, limits))


def _texts(chunk: Sequence[bytes], to: str, retries: int, limits: Limits) -> Plan[list[_results.EmbedResult]]:
    """The vectors of some texts in one request; in halves where the server's limits are lower than thought."""
    if not chunk:
        return []
    try:
        body = b'{"texts":[' + b",".join(chunk) + b"]}"
        response = yield from asked(Request("POST", to, [body], "application/json"), retries)
    except OcelliError as error:
        if len(chunk) == 1 or not limits.lower(error, len(chunk), sum(map(len, chunk))):
            raise
        middle = len(chunk) // 2
        first = yield from _texts(chunk[:middle], to, retries, limits)
        return first + (yield from _texts(chunk[middle:], to, retries, limits))
    answer = response.json()
    header = {name: value for name, value in answer.items() if name != "results"}
    results = [_results.embedded({**header, **each}) for each in answer["results"]]
    if len(results) != len(chunk):
        raise OcelliError(f"{len(results)} vectors for {len(chunk)} texts", status=response.status, code="bad_answer")
    return results


# MARK: Predict

def predicted(name: str, version: Optional[str], inputs: object, query: Query, retries: int) -> Plan[_results.PredictResult]:
    """The outputs of a model for its inputs."""
    to = target("predict", name, version, query)
    if isinstance(inputs, (bytes, bytearray, memoryview, os.PathLike, io.IOBase, Frame)):
        image = cast(Image, inputs)
        data: Buffer = yield Read(image)
        request = Request("POST", to, [data], media_type(image))
    else:
        body = json.dumps({"inputs": jsonable(inputs)}, allow_nan=False).encode()
        request = Request("POST", to, [body], "application/json")
    response = yield from asked(request, retries)
    return _results.predicted(response.json())


def jsonable(value: object) -> object:
    """Inputs as JSON: pictures' bytes as base64, raw frames with their type, NaN (a missing value) as null, NumPy's arrays as lists.

    >>> jsonable({"rooms": 3, "area": float("nan"), "picture": b"x"})
    {'rooms': 3, 'area': None, 'picture': {'b64': 'eA=='}}
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64

        return {"b64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Frame):
        return {**cast("dict[str, object]", jsonable(value.data)), "type": value.type}
    if isinstance(value, Mapping):
        return {str(name): jsonable(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(each) for each in value]
    if isinstance(value, float):
        return None if value != value else value
    if hasattr(value, "tolist"):
        return jsonable(cast("NDArray[numpy.float64]", value).tolist())
    return value


# MARK: Taught models

#: The most examples that a server lists in one answer.
PAGE = 10_000


def taught(name: str, retries: int) -> Plan[_results.Taught]:
    """A taught model as it is."""
    return got(f"/v1/taught/{quoted(name)}", retries, lambda answer: _results.taught([answer], []))


def examples(name: str, label: Optional[str], retries: int) -> Plan[list[_results.Example]]:
    """All examples of a taught model, or of a label: page by page."""
    found: list[_results.Example] = []
    after: Optional[str] = None
    while True:
        path = f"/v1/taught/{quoted(name)}/examples" + _encoded({"label": label, "limit": PAGE, "after": after})
        page = yield from got(path, retries, lambda answer: answer)
        found += _results.examples(page)
        after = page.get("next")
        if not after:
            return found


#: The most kept pictures that a server lists in one answer.
KEPT_PAGE = 1_000


def kept(model: Optional[str], why: Optional[str], retries: int) -> Plan[list[_results.Kept]]:
    """All kept pictures, newest first: page by page."""
    found: list[_results.Kept] = []
    after: Optional[str] = None
    while True:
        path = "/v1/kept" + _encoded({"model": model, "why": why, "limit": KEPT_PAGE, "after": after})
        page = yield from got(path, retries, lambda answer: answer)
        found += _results.kept(page)
        after = page.get("next")
        if not after:
            return found


def kept_picture(id: str, retries: int) -> Plan[bytes]:
    """The bytes of a kept picture."""
    response = yield from asked(Request("GET", f"/v1/kept/{quoted(id)}"), retries)
    return bytes(response.body)


def delete_kept(id: Optional[str], model: Optional[str], retries: int) -> Plan[None]:
    """Deletes a kept picture, or all of a model."""
    if (id is None) == (model is None):
        raise TypeError(f"expected the id of a kept picture or model=, found {'neither' if id is None else 'both'}")
    path = "/v1/kept" + (_encoded({"model": model}) if id is None else f"/{quoted(id)}")
    yield from asked(Request("DELETE", path), retries)


def export(name: str, retries: int) -> Plan[bytes]:
    """A taught model's classifier as a Core ML file."""
    response = yield from asked(Request("GET", f"/v1/taught/{quoted(name)}/export"), retries)
    return bytes(response.body)


def search(
    name: str, image: Optional[Image], text: Optional[str], top: Optional[int], label: Optional[str], query: Query, retries: int
) -> Plan[_results.SearchResult]:
    """The examples of a taught model that are nearest to a picture or a text."""
    check_embedded(image, text)
    to = f"/v1/taught/{quoted(name)}/search" + _encoded({"top": top, "label": label, **query})
    if text is None:
        picture = cast(Image, image)
        data: Buffer = yield Read(picture)
        request = Request("POST", to, [data], media_type(picture))
    else:
        request = Request("POST", to, [text.encode()], "text/plain; charset=utf-8")
    response = yield from asked(request, retries)
    return _results.found(response.json(), response.fields.get("x-request-id", ""))


def anomaly(name: str, image: Image, query: Query, retries: int) -> Plan[_results.AnomalyResult]:
    """How unusual a picture is for a taught model."""
    to = f"/v1/models/{quoted(name)}/classify" + _encoded(query)
    data: Buffer = yield Read(image)
    response = yield from asked(Request("POST", to, [data], media_type(image)), retries)
    return _results.anomaly(response.json())


def created(embedder: Optional[str], method: Optional[str], false_alarms: Optional[float]) -> Optional[dict[str, object]]:
    """The members of the request that creates a taught model; None if none is created."""
    given = {"method": method, "false_alarms": false_alarms}
    members = {key: value for key, value in given.items() if value is not None}
    if embedder is None:
        if members:
            raise ValueError(f"{' and '.join(members)} of a new taught model: expected embedder too")
        return None
    return {"embedder": embedder, **members}


def teach(
    name: str, label: str, images: Iterator[Image], called: Optional[str], creation: Optional[dict[str, object]], retries: int, limits: Limits
) -> Plan[_results.Taught]:
    """A taught model after some examples of a label."""
    path = f"/v1/taught/{quoted(name)}"
    if creation is not None:
        body = json.dumps(creation).encode()
        yield from asked(Request("PUT", path, [body], "application/json"), retries)
    # The answers of all requests, which tell what was added; pictures of one that failed as a whole are errors in their places.
    answers: list[Mapping[str, Any]] = []

    def taken(response: Response, count: int) -> list[Any]:
        answers.append(response.json())
        return [None] * count

    to = path + "/examples" + _encoded({"label": label, "name": called})
    results = yield from _divided(images, to, retries, limits, taken)
    errors = [result for result in results if isinstance(result, OcelliError)]
    if not answers:
        if errors:
            raise errors[0]
        raise ValueError("teach needs at least one picture")
    return _results.taught(answers, errors)

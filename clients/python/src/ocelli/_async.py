"""The client with coroutines."""

from __future__ import annotations

import asyncio
import os
import ssl
from types import TracebackType
from typing import Any, Iterable, Mapping, Optional, Sequence, TypeVar, Union, cast, overload

from . import _plan, _results
from ._client import _late
from ._errors import OcelliError
from ._plan import Exchange, Image, Orientation, Plan, Query, Read, Revive
from ._pool import Deadline
from ._results import (
    AnomalyResult, ClassifyResult, DetectResult, Drift, EmbedResult, Example, Kept, KeypointsResult, Model, PredictResult, ReadResult,
    SearchResult, SegmentResult, Taught,
)
from ._wire import Address, Buffer, ClosedEarly, Request, Response, ResponseParser

Value = TypeVar("Value")


class _Connection(asyncio.Protocol):
    """One connection: what comes goes into the parser of the exchange that is under way."""

    def __init__(self) -> None:
        self.transport: Optional[asyncio.Transport] = None
        self.is_open = True
        self._parser: Optional[ResponseParser] = None
        self._answer: Optional[asyncio.Future[Response]] = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._answer is None:
            # Nobody asked for it.
            self.abort()
            return
        self._feed(data)

    def eof_received(self) -> bool:
        self._feed(b"")
        return False

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._feed(b"")
        self.is_open = False
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _feed(self, data: bytes) -> None:
        if not data:
            self.is_open = False
        if self._parser is None or self._answer is None or self._answer.done():
            return
        try:
            self._parser.feed(data)
        except ConnectionError as error:
            self._answer.set_exception(error)
            return
        if self._parser.response is not None:
            self._answer.set_result(self._parser.response)

    async def exchange(self, pieces: Sequence[Buffer], parser: ResponseParser) -> Response:
        """Sends a request and gives its answer, which may come before all is sent."""
        assert self.transport is not None
        if not self.is_open:
            raise ClosedEarly("the server closed the connection")
        self._parser, self._answer = parser, asyncio.get_running_loop().create_future()
        isWhole = False
        try:
            for piece in pieces:
                view = memoryview(piece).cast("B")
                for start in range(0, len(view), 256 << 10):
                    if self._answer.done() or not self.is_open:
                        break
                    self.transport.write(view[start: start + (256 << 10)])
                    if not self._writable.is_set():
                        writable: asyncio.Future[Any] = asyncio.ensure_future(self._writable.wait())
                        waits: list[asyncio.Future[Any]] = [writable, self._answer]
                        try:
                            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                        finally:
                            writable.cancel()
            wasSent = not self._answer.done() or self.transport.get_write_buffer_size() == 0
            response = await self._answer
            isWhole = wasSent and parser.is_kept
            return response
        finally:
            self._parser = self._answer = None
            if not isWhole:
                self.abort()

    def abort(self) -> None:
        """Closes the connection at once: the server stops working on the request."""
        self.is_open = False
        if self.transport is not None:
            self.transport.abort()


class AsyncClient:
    """`Client` for asyncio: the same methods, as coroutines. ``help(ocelli.Client)`` explains them.

    Cancelling a call closes its connection, and the server stops working on it::

        async with AsyncClient("http://127.0.0.1:8080") as client:
            results = await asyncio.gather(*(client.classify(name) for name in names))

    >>> async def label():
    ...     async with AsyncClient(URL) as client:
    ...         return (await client.classify("examples/seven.png")).classifications[0].label
    >>> asyncio.run(label())
    '7'
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, token: Optional[str] = None, timeout: Optional[float] = 60,
        retries: int = 3, connections: int = 8, storage_options: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Makes a client, with the arguments of `Client`; connects at the first call."""
        if retries < 0:
            raise ValueError(f"retries: expected 0 or more, found {retries}")
        if token is not None and any(character < " " or character > "~" for character in token):
            raise ValueError("token: expected visible ASCII characters")
        self._address, self._token = Address.parse(url), token
        self._timeout, self._retries, self._most = timeout, retries, connections
        self._storage = dict(storage_options or {})
        self._limits = _plan.Limits()
        self._context = ssl.create_default_context() if self._address.is_tls else None
        self._idle: list[_Connection] = []
        self._calls: set[asyncio.Task[Any]] = set()
        # Connections belong to the loop and the process that made them.
        self._owner: tuple[Optional[asyncio.AbstractEventLoop], int] = (None, 0)
        self._isClosed = False

    # MARK: Pictures

    @overload
    async def classify(  # type: ignore[overload-overlap]
        self, images: Image, *, labels: Optional[Sequence[str]] = None, prompt: Optional[str] = None, model: Optional[str] = None,
        version: Optional[str] = None, top: Optional[int] = None, threshold: Optional[float] = None, coverage: Optional[float] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> ClassifyResult: ...

    @overload
    async def classify(
        self, images: Sequence[Image], *, labels: Optional[Sequence[str]] = None, prompt: Optional[str] = None,
        model: Optional[str] = None, version: Optional[str] = None, top: Optional[int] = None, threshold: Optional[float] = None,
        coverage: Optional[float] = None, crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[ClassifyResult, OcelliError]]: ...

    async def classify(
        self, images: Union[Image, Sequence[Image]], *, labels: Optional[Sequence[str]] = None, prompt: Optional[str] = None,
        model: Optional[str] = None, version: Optional[str] = None, top: Optional[int] = None, threshold: Optional[float] = None,
        coverage: Optional[float] = None, crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """As `Client.classify`."""
        query: Query = {
            "top": top, "threshold": threshold, "coverage": coverage, "prompt": prompt, "crop": crop, "orientation": orientation}
        return await self._images(_plan.CLASSIFY, images, model, version, query, timeout, _plan.checked(labels))

    @overload
    async def detect(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, top: Optional[int] = None,
        threshold: Optional[float] = None, iou: Optional[float] = None, classes: Optional[Sequence[Union[str, int]]] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> DetectResult: ...

    @overload
    async def detect(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        top: Optional[int] = None, threshold: Optional[float] = None, iou: Optional[float] = None,
        classes: Optional[Sequence[Union[str, int]]] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[DetectResult, OcelliError]]: ...

    async def detect(
        self, images: Union[Image, Sequence[Image]], *, model: Optional[str] = None, version: Optional[str] = None,
        top: Optional[int] = None, threshold: Optional[float] = None, iou: Optional[float] = None,
        classes: Optional[Sequence[Union[str, int]]] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """As `Client.detect`."""
        if isinstance(classes, str):
            classes = [classes]
        query: Query = {"top": top, "threshold": threshold, "iou": iou, "classes": classes, "crop": crop, "orientation": orientation}
        return await self._images(_plan.DETECT, images, model, version, query, timeout)

    @overload
    async def segment(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> SegmentResult: ...

    @overload
    async def segment(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[SegmentResult, OcelliError]]: ...

    async def segment(
        self, images: Union[Image, Sequence[Image]], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """As `Client.segment`."""
        return await self._images(_plan.SEGMENT, images, model, version, {"crop": crop, "orientation": orientation}, timeout)

    @overload
    async def keypoints(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> KeypointsResult: ...

    @overload
    async def keypoints(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[KeypointsResult, OcelliError]]: ...

    async def keypoints(
        self, images: Union[Image, Sequence[Image]], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """As `Client.keypoints`."""
        return await self._images(_plan.KEYPOINTS, images, model, version, {"crop": crop, "orientation": orientation}, timeout)

    @overload
    async def embed(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> EmbedResult: ...

    @overload
    async def embed(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[EmbedResult, OcelliError]]: ...

    @overload
    async def embed(  # type: ignore[overload-overlap]
        self, *, text: str, model: Optional[str] = None, version: Optional[str] = None, timeout: Optional[float] = None
    ) -> EmbedResult: ...

    @overload
    async def embed(
        self, *, text: Sequence[str], model: Optional[str] = None, version: Optional[str] = None, timeout: Optional[float] = None
    ) -> list[EmbedResult]: ...

    async def embed(
        self, images: Union[Image, Sequence[Image], None] = None, *, text: Union[str, Sequence[str], None] = None,
        model: Optional[str] = None, version: Optional[str] = None, crop: Optional[str] = None, orientation: Orientation = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """As `Client.embed`."""
        query: Query = {"crop": crop, "orientation": orientation}
        _plan.check_embedded(images, text)
        if text is None:
            return await self._images(_plan.EMBED, cast("Union[Image, Sequence[Image]]", images), model, version, query, timeout)
        to = _plan.target(_plan.EMBED.name, model, version, {**_plan.EMBED.query, **query})
        if isinstance(text, str):
            return await self._run(_plan.text(text, to, self._retries), timeout)
        return await self._run(_plan.texts(text, to, self._retries, self._limits), timeout)

    @overload
    async def read(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, threshold: Optional[float] = None,
        find_threshold: Optional[float] = None, top: Optional[int] = None, characters: bool = False,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> ReadResult: ...

    @overload
    async def read(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        threshold: Optional[float] = None, find_threshold: Optional[float] = None, top: Optional[int] = None,
        characters: bool = False, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[ReadResult, OcelliError]]: ...

    async def read(
        self, images: Union[Image, Sequence[Image]], *, model: Optional[str] = None, version: Optional[str] = None,
        threshold: Optional[float] = None, find_threshold: Optional[float] = None, top: Optional[int] = None,
        characters: bool = False, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """As `Client.read`."""
        query = _plan.read_query(threshold, find_threshold, top, characters, orientation)
        return await self._images(_plan.READ, images, model, version, query, timeout)

    # MARK: Any model

    async def predict(
        self, model: str, inputs: object, *, version: Optional[str] = None, top: Optional[int] = None,
        threshold: Optional[float] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> PredictResult:
        """As `Client.predict`."""
        query: Query = {"top": top, "threshold": threshold, "orientation": orientation}
        return await self._run(_plan.predicted(model, version, inputs, query, self._retries), timeout)

    async def models(self, *, timeout: Optional[float] = None) -> list[Model]:
        """As `Client.models`."""
        def read(answer: Any) -> list[Model]:
            return [_results.model(each) for each in answer["models"]]

        return await self._run(_plan.got("/v1/models", self._retries, read), timeout)

    async def drift(self, model: str, *, relearn: bool = False, timeout: Optional[float] = None) -> Drift:
        """As `Client.drift`."""
        return await self._run(_plan.drift(model, relearn, self._retries), timeout)

    # MARK: Taught models

    async def teach(
        self, model: str, /, label: str, images: Union[Image, Sequence[Image]], *, name: Optional[str] = None,
        embedder: Optional[str] = None, method: Optional[str] = None, false_alarms: Optional[float] = None,
        timeout: Optional[float] = None,
    ) -> Taught:
        """As `Client.teach`."""
        creation = _plan.created(embedder, method, false_alarms)
        return await self._run(
            _plan.teach(model, label, _plan.pictures(images), name, creation, self._retries, self._limits), timeout)

    async def taught(self, name: str, *, timeout: Optional[float] = None) -> Taught:
        """As `Client.taught`."""
        return await self._run(_plan.taught(name, self._retries), timeout)

    async def examples(
        self, name: str, *, label: Optional[str] = None, timeout: Optional[float] = None
    ) -> list[Example]:
        """As `Client.examples`."""
        return await self._run(_plan.examples(name, label, self._retries), timeout)

    async def kept(
        self, *, model: Optional[str] = None, why: Optional[str] = None, timeout: Optional[float] = None
    ) -> list[Kept]:
        """As `Client.kept`."""
        return await self._run(_plan.kept(model, why, self._retries), timeout)

    async def kept_picture(self, id: str, *, timeout: Optional[float] = None) -> bytes:
        """As `Client.kept_picture`."""
        return await self._run(_plan.kept_picture(id, self._retries), timeout)

    async def delete_kept(
        self, id: Optional[str] = None, *, model: Optional[str] = None, timeout: Optional[float] = None
    ) -> None:
        """As `Client.delete_kept`."""
        await self._run(_plan.delete_kept(id, model, self._retries), timeout)

    async def search(
        self, name: str, image: Optional[Image] = None, *, text: Optional[str] = None, top: Optional[int] = None,
        label: Optional[str] = None, crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> SearchResult:
        """As `Client.search`."""
        query = {"crop": crop, "orientation": orientation}
        return await self._run(_plan.search(name, image, text, top, label, query, self._retries), timeout)

    async def anomaly(
        self, name: str, image: Image, *, map: bool = False, crop: Optional[str] = None, orientation: Orientation = None,
        timeout: Optional[float] = None,
    ) -> AnomalyResult:
        """As `Client.anomaly`."""
        query = {"map": "true" if map else None, "crop": crop, "orientation": orientation}
        return await self._run(_plan.anomaly(name, image, query, self._retries), timeout)

    async def export(self, name: str, *, timeout: Optional[float] = None) -> bytes:
        """As `Client.export`."""
        return await self._run(_plan.export(name, self._retries), timeout)

    # MARK: The rest

    async def close(self) -> None:
        """Closes all connections. Calls in other tasks end with `ConnectionError`."""
        self._isClosed = True
        for call in list(self._calls):
            if call is not asyncio.current_task():
                call.cancel()
        while self._idle:
            self._idle.pop().abort()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({str(self._address)!r})"

    async def _images(
        self, task: _plan.Task, images: Union[Image, Iterable[Image]], model: Optional[str], version: Optional[str], query: Query,
        timeout: Optional[float], labels: Sequence[str] = (),
    ) -> Any:
        to = _plan.target(task.name, model, version, {**task.query, **query})
        if _plan.is_one(images):
            return await self._run(_plan.one(task, next(_plan.pictures(images)), to, self._retries, labels), timeout)
        return await self._run(_plan.several(task, _plan.pictures(images), to, self._retries, self._limits, labels), timeout)

    async def _run(self, plan: Plan[Value], timeout: Optional[float]) -> Value:
        """Does what a plan wants, until its result or the deadline."""
        deadline = Deadline(self._timeout if timeout is None else timeout)
        call = asyncio.ensure_future(self._drive(plan, deadline))
        self._calls.add(call)
        try:
            done, _ = await asyncio.wait([call], timeout=deadline.left)
            if not done:
                raise deadline.passed()
            if call.cancelled() and self._isClosed:
                raise ConnectionError("the client was closed during the call")
            return call.result()
        finally:
            self._calls.discard(call)
            if not call.done():
                call.cancel()
                # Its connection is closed when this returns.
                await asyncio.wait([call])

    async def _drive(self, plan: Plan[Value], deadline: Deadline) -> Value:
        try:
            step = next(plan)
            while True:
                try:
                    answer = await self._step(step, deadline)
                except (OSError, OcelliError) as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as end:
            result: Value = end.value
            return result

    async def _step(self, step: _plan.Step, deadline: Deadline) -> Any:
        if isinstance(step, Exchange):
            return await self._exchange(step.request)
        if isinstance(step, Read):
            if isinstance(step.image, (bytes, bytearray, memoryview)):
                return _plan.read(step.image, self._storage)
            return await asyncio.to_thread(_plan.read, step.image, self._storage)
        if isinstance(step, Revive):
            raise step.because
        left = deadline.left
        if left is not None and step.seconds > left:
            raise _late(step, deadline.seconds)
        await asyncio.sleep(step.seconds)
        return None

    async def _exchange(self, request: Request) -> Response:
        if self._isClosed:
            raise ConnectionError("the client is closed")
        pieces = request.encoded(self._address, self._token)
        owner = (asyncio.get_running_loop(), os.getpid())
        if self._owner != owner:
            self._idle, self._owner = [], owner
        while self._idle:
            kept = self._idle.pop()
            if not kept.is_open:
                continue
            parser = ResponseParser()
            try:
                return await self._exchange_over(kept, pieces, parser)
            except ConnectionError:
                # The server closed it meanwhile, as it may: once more, over a new one.
                if parser.has_begun:
                    raise
                break
        return await self._exchange_over(await self._connected(), pieces, ResponseParser())

    async def _exchange_over(self, connection: _Connection, pieces: Sequence[Buffer], parser: ResponseParser) -> Response:
        response = await connection.exchange(pieces, parser)
        if connection.is_open and len(self._idle) < self._most and not self._isClosed:
            self._idle.append(connection)
        else:
            connection.abort()
        return response

    async def _connected(self) -> _Connection:
        loop, address = asyncio.get_running_loop(), self._address
        try:
            if address.path:
                _, connection = await loop.create_unix_connection(_Connection, address.path)
            else:
                _, connection = await loop.create_connection(_Connection, address.host, address.port, ssl=self._context)
        except OSError as error:
            raise ConnectionError(f"{address} cannot be reached: {error.strerror or error}") from error
        return connection

"""The client with blocking calls."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, TypeVar, Union, cast, overload

from . import _plan, _results
from ._errors import OcelliError
from ._plan import Exchange, Image, Orientation, Plan, Query, Read, Revive, Wait
from ._pool import Closed, Deadline, Pool
from ._results import (
    AnomalyResult, ClassifyResult, DetectResult, Drift, EmbedResult, Example, Kept, KeypointsResult, Model, PredictResult, ReadResult,
    SearchResult, SegmentResult, Taught,
)
from ._wire import Address, Request

Value = TypeVar("Value")


class Client:
    """Asks an Ocelli server: classes, boxes, masks, points, embeddings, text, and any model's outputs.

    The server is ``http://HOST:PORT``, ``https://HOST`` (behind a proxy) or ``unix:///PATH``. Connections are kept, so make one client
    and use it for all calls, from as many threads as you like::

        from ocelli import Client, OcelliError

        with Client("http://127.0.0.1:8080") as client:
            result = client.classify("cat.jpg", top=3)
            print(result.classifications[0].label, result.classifications[0].confidence)

    **Pictures.** A picture is a path, the bytes of a file (JPEG, PNG, WebP, ...), or a file that is open in binary mode. A text with
    ``://`` in it, such as ``s3://bucket/cat.jpg``, is read with fsspec (``storage_options`` are its options). Pixels that are not encoded
    are a `Frame`: ``Frame.from_array(array, "BGR")``.

    **Several pictures.** A list of pictures gives a list of results in the same order, in as few requests as the server's limits allow.
    A picture that failed is an `OcelliError` in its place, so one bad file does not lose the others::

        for name, result in zip(names, client.classify(names)):
            if isinstance(result, OcelliError):
                print(name, "failed:", result)
            else:
                print(name, result.classifications[0].label)

    **Models.** ``model="mobilenet"`` names one, ``version="2"`` its version; without, the server's default for the task answers.

    **Errors.** A request that the server refuses raises `OcelliError` with ``code``, ``status`` and ``request_id`` (the number in the
    server's log). A server that cannot be reached raises `ConnectionError`, a call that takes longer than ``timeout`` seconds, uploads
    and repeated attempts included, `TimeoutError`. Where the server has too much to do (429, 503) the call waits as long as the server
    asks, and a little more by chance, and tries again, at most ``retries`` times.

    **Ending calls.** `close` ends the calls of other threads: they raise `ConnectionError`, and the server stops working on them.

    A client can be pickled and used after a fork; it then makes connections of its own.

    >>> with Client(URL) as client:
    ...     result = client.classify("examples/seven.png", top=2)
    >>> result.model, [found.label for found in result.classifications]
    ('digits', ['7', '1'])
    >>> result.image.width, result.request_id != ""
    (256, True)
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, token: Optional[str] = None, timeout: Optional[float] = 60,
        retries: int = 3, connections: int = 8, storage_options: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Makes a client; connects at the first call.

        Args:
            url: ``http://HOST:PORT``, ``https://HOST`` or ``unix:///PATH``.
            token: the bearer token, where the server has ``tokens_file`` set.
            timeout: seconds for a whole call; None for no limit. Each call takes its own, too.
            retries: how often a call is tried again on 429 and 503.
            connections: how many idle connections are kept.
            storage_options: fsspec's options for pictures that are URLs.
        """
        if retries < 0:
            raise ValueError(f"retries: expected 0 or more, found {retries}")
        if token is not None and any(character < " " or character > "~" for character in token):
            raise ValueError("token: expected visible ASCII characters")
        self._arguments: dict[str, Any] = {
            "url": url, "token": token, "timeout": timeout, "retries": retries, "connections": connections,
            "storage_options": storage_options,
        }
        self._timeout, self._retries = timeout, retries
        self._storage = dict(storage_options or {})
        self._limits = _plan.Limits()
        self._pool = Pool(Address.parse(url), token, connections)
        # Set by `LocalDaemon`: starts the server again.
        self._revive: Optional[Callable[[Optional[float]], None]] = None

    # MARK: Pictures

    @overload
    def classify(  # type: ignore[overload-overlap]
        self, images: Image, *, labels: Optional[Sequence[str]] = None, prompt: Optional[str] = None, model: Optional[str] = None,
        version: Optional[str] = None, top: Optional[int] = None, threshold: Optional[float] = None, coverage: Optional[float] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> ClassifyResult: ...

    @overload
    def classify(
        self, images: Sequence[Image], *, labels: Optional[Sequence[str]] = None, prompt: Optional[str] = None,
        model: Optional[str] = None, version: Optional[str] = None, top: Optional[int] = None, threshold: Optional[float] = None,
        coverage: Optional[float] = None, crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[ClassifyResult, OcelliError]]: ...

    def classify(
        self, images: Union[Image, Sequence[Image]], *, labels: Optional[Sequence[str]] = None, prompt: Optional[str] = None,
        model: Optional[str] = None, version: Optional[str] = None, top: Optional[int] = None, threshold: Optional[float] = None,
        coverage: Optional[float] = None, crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """Classifies a picture: returns its most probable classes.

        Args:
            images: a picture, or several (see the class).
            labels: the classes, for a model that embeds pictures and texts (CLIP, SigLIP): 1 to 1,000 texts, which may have commas.
            prompt: the text around each label, with ``{}`` in its place, as in ``"a photo of a {}."``; without, the model's own.
            model: the model's name; without, the server's default.
            version: a version of that model; without, the one that serves.
            top: how many classes at most (the server's default is 5).
            threshold: the least confidence of a class, 0 to 1.
            coverage: of a calibrated model (``ocelli calibrate``), the share of pictures, such as 0.9, in which the result's ``set`` holds
                the right label; above 0 and below 1.
            crop: how a picture of another shape is fitted: ``center``, ``fit`` or ``fill``.
            orientation: how the pictures are stored: ``apply`` (the default) or ``ignore`` the orientation in the file, or in its place
                1 to 8 as in EXIF, or ``up``, ``up_mirrored``, ``down``, ``down_mirrored``, ``left_mirrored``, ``right``,
                ``right_mirrored`` or ``left`` for 1 to 8.
            timeout: seconds for this call, in place of the client's.

        Returns:
            A `ClassifyResult`; for several pictures a list of them, with an `OcelliError` in place of each that failed.

        >>> client = Client(URL)
        >>> client.classify("examples/seven.png").classifications[0].label
        '7'
        >>> seven, broken = client.classify(["examples/seven.png", b"no picture"])
        >>> seven.classifications[0].label, broken.code
        ('7', 'unsupported_media_type')
        >>> client.classify("examples/seven.png", model="nothing")
        Traceback (most recent call last):
            ...
        ocelli.OcelliError: ...model_not_found...
        """
        query: Query = {
            "top": top, "threshold": threshold, "coverage": coverage, "prompt": prompt, "crop": crop, "orientation": orientation}
        return self._images(_plan.CLASSIFY, images, model, version, query, timeout, _plan.checked(labels))

    @overload
    def detect(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, top: Optional[int] = None,
        threshold: Optional[float] = None, iou: Optional[float] = None, classes: Optional[Sequence[Union[str, int]]] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> DetectResult: ...

    @overload
    def detect(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        top: Optional[int] = None, threshold: Optional[float] = None, iou: Optional[float] = None,
        classes: Optional[Sequence[Union[str, int]]] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[DetectResult, OcelliError]]: ...

    def detect(
        self, images: Union[Image, Sequence[Image]], *, model: Optional[str] = None, version: Optional[str] = None,
        top: Optional[int] = None, threshold: Optional[float] = None, iou: Optional[float] = None,
        classes: Optional[Sequence[Union[str, int]]] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """The things in the picture, with their boxes in pixels.

        Args:
            images, model, version, crop, orientation, timeout: as for `classify`.
            top: how many things at most.
            threshold: the least confidence; without, the model's own.
            iou: how much two boxes of a class may overlap before the weaker one is left out.
            classes: only these, by label or number: ``["person", "dog"]``.

        Returns:
            A `DetectResult`, or a list as for `classify`. A detection has ``label``, ``confidence``, ``box`` (``x``, ``y``, ``width``,
            ``height``), ``keypoints``, and ``mask``: a NumPy array of booleans, or None.

        >>> for found in Client(URL).detect("examples/seven.png", model="case00", top=1).detections:
        ...     print(found.label, round(found.confidence, 2), round(found.box.x))
        class 2 0.95 17
        """
        if isinstance(classes, str):
            classes = [classes]
        query: Query = {"top": top, "threshold": threshold, "iou": iou, "classes": classes, "crop": crop, "orientation": orientation}
        return self._images(_plan.DETECT, images, model, version, query, timeout)

    @overload
    def segment(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> SegmentResult: ...

    @overload
    def segment(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[SegmentResult, OcelliError]]: ...

    def segment(
        self, images: Union[Image, Sequence[Image]], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """The class of each pixel.

        Args:
            images, model, version, crop, orientation, timeout: as for `classify`.

        Returns:
            A `SegmentResult`, or a list as for `classify`: ``segments`` are the classes with their areas, ``mask`` is a NumPy array of
            class numbers, height by width.
        """
        return self._images(_plan.SEGMENT, images, model, version, {"crop": crop, "orientation": orientation}, timeout)

    @overload
    def keypoints(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> KeypointsResult: ...

    @overload
    def keypoints(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[KeypointsResult, OcelliError]]: ...

    def keypoints(
        self, images: Union[Image, Sequence[Image]], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """The points of the one thing in the picture, such as the joints of a person.

        Args:
            images, model, version, crop, orientation, timeout: as for `classify`.

        Returns:
            A `KeypointsResult`, or a list as for `classify`: ``keypoints`` has ``name``, ``x``, ``y`` and ``confidence`` of each point,
            or None for one that was not found.
        """
        return self._images(_plan.KEYPOINTS, images, model, version, {"crop": crop, "orientation": orientation}, timeout)

    @overload
    def embed(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, crop: Optional[str] = None,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> EmbedResult: ...

    @overload
    def embed(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[EmbedResult, OcelliError]]: ...

    @overload
    def embed(  # type: ignore[overload-overlap]
        self, *, text: str, model: Optional[str] = None, version: Optional[str] = None, timeout: Optional[float] = None
    ) -> EmbedResult: ...

    @overload
    def embed(
        self, *, text: Sequence[str], model: Optional[str] = None, version: Optional[str] = None, timeout: Optional[float] = None
    ) -> list[EmbedResult]: ...

    def embed(
        self, images: Union[Image, Sequence[Image], None] = None, *, text: Union[str, Sequence[str], None] = None,
        model: Optional[str] = None, version: Optional[str] = None, crop: Optional[str] = None, orientation: Orientation = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """The picture, or a text, as a vector: similar ones have similar vectors.

        Args:
            images, model, version, crop, orientation, timeout: as for `classify`.
            text: a text in place of a picture, for a model that embeds texts; several give a list.

        Returns:
            An `EmbedResult`, or a list as for `classify`: ``embedding`` is a NumPy array of float32. For texts it has ``tokens`` and
            ``truncated``, and a list is whole: a text that cannot be embedded raises its `OcelliError`.

        >>> result = Client(URL).embed("examples/seven.png", model="embedder")
        >>> result.embedding.dtype.name, result.embedding.ndim
        ('float32', 1)
        """
        query: Query = {"crop": crop, "orientation": orientation}
        _plan.check_embedded(images, text)
        if text is None:
            return self._images(_plan.EMBED, cast("Union[Image, Sequence[Image]]", images), model, version, query, timeout)
        to = _plan.target(_plan.EMBED.name, model, version, {**_plan.EMBED.query, **query})
        if isinstance(text, str):
            return self._run(_plan.text(text, to, self._retries), timeout)
        return self._run(_plan.texts(text, to, self._retries, self._limits), timeout)

    @overload
    def read(  # type: ignore[overload-overlap]
        self, images: Image, *, model: Optional[str] = None, version: Optional[str] = None, threshold: Optional[float] = None,
        find_threshold: Optional[float] = None, top: Optional[int] = None, characters: bool = False,
        orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> ReadResult: ...

    @overload
    def read(
        self, images: Sequence[Image], *, model: Optional[str] = None, version: Optional[str] = None,
        threshold: Optional[float] = None, find_threshold: Optional[float] = None, top: Optional[int] = None,
        characters: bool = False, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> list[Union[ReadResult, OcelliError]]: ...

    def read(
        self, images: Union[Image, Sequence[Image]], *, model: Optional[str] = None, version: Optional[str] = None,
        threshold: Optional[float] = None, find_threshold: Optional[float] = None, top: Optional[int] = None,
        characters: bool = False, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> Any:
        """The text of the picture, line by line.

        Args:
            images, model, version, orientation, timeout: as for `classify`.
            threshold: the least confidence of a line, 0 to 1; 0.5 without it.
            find_threshold: the least score of a region of text, 0 to 1; the reader's own without it.
            top: the most lines, the most confident; all without it.
            characters: whether each line lists its characters with their places.

        Returns:
            A `ReadResult`, or a list as for `classify`: ``text`` is the whole text in reading order, ``lines`` has ``text``,
            ``confidence``, ``points``, ``box`` and ``characters`` of each line.
        """
        query = _plan.read_query(threshold, find_threshold, top, characters, orientation)
        return self._images(_plan.READ, images, model, version, query, timeout)

    # MARK: Any model

    def predict(
        self, model: str, inputs: object, *, version: Optional[str] = None, top: Optional[int] = None,
        threshold: Optional[float] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> PredictResult:
        """The outputs of any model, by name.

        Args:
            model: the model's name.
            inputs: values by the names of the inputs, or in their order: numbers, lists, NumPy arrays, strings; bytes and frames are pictures.
                A NaN is a missing value. For a model with one picture as its input, the picture itself (bytes, a `pathlib.Path` or a
                binary file).
            version, orientation, timeout: as for `classify`.
            top, threshold: of outputs with labels, as for `classify`.

        Returns:
            A `PredictResult`: ``outputs`` has numbers, lists or ``{label: value}`` by the names of the outputs.

        >>> outputs = Client(URL).predict("digits", {"image": open("examples/seven.png", "rb").read()}).outputs
        >>> max(outputs["probabilities"], key=outputs["probabilities"].get)
        '7'
        """
        query: Query = {"top": top, "threshold": threshold, "orientation": orientation}
        return self._run(_plan.predicted(model, version, inputs, query, self._retries), timeout)

    def models(self, *, timeout: Optional[float] = None) -> list[Model]:
        """The server's models.

        >>> [model.state for model in Client(URL).models() if model.name == "digits"]
        ['ready']
        """
        def read(answer: Any) -> list[Model]:
            return [_results.model(each) for each in answer["models"]]

        return self._run(_plan.got("/v1/models", self._retries, read), timeout)

    def drift(self, model: str, *, relearn: bool = False, timeout: Optional[float] = None) -> Drift:
        """Whether a model's pictures, and its answers, are still like the first ones (the server's setting ``drift``).

        Args:
            model: the model's name, or a taught model's.
            relearn: True begins to learn the reference from the next pictures; it takes a token of the class ``admin``.
            timeout: seconds for this call, in place of the client's.

        Raises:
            OcelliError: ``not_found`` if the model is not watched, ``model_not_found`` if it does not exist.
        """
        return self._run(_plan.drift(model, relearn, self._retries), timeout)

    # MARK: Taught models

    def teach(
        self, model: str, /, label: str, images: Union[Image, Sequence[Image]], *, name: Optional[str] = None,
        embedder: Optional[str] = None, method: Optional[str] = None, false_alarms: Optional[float] = None,
        timeout: Optional[float] = None,
    ) -> Taught:
        """Teaches a model what a label looks like. It answers `classify` with the new examples as soon as this returns.

        Args:
            model: the taught model's name.
            label: the class that the pictures show.
            images: a picture, or several. One that is known already is not counted again; under another label it moves.
            name: your own name for the pictures, such as a part number, which lists and searches return. Without one, a known picture keeps its
                name.
            embedder: the embedding model to build on: creates the taught model first, if it is not there.
            method: of a new taught model, such as ``"normal"``, which learns the label ``normal`` only, to find anomalies (see `anomaly`).
            false_alarms: with the method ``normal``, the share of normal pictures that may be called anomalies; 0.01 without it.
            timeout: as for `classify`.

        Returns:
            The taught model as it is now: ``added`` has what these pictures were, ``errors`` those that could not be used.

        Raises:
            OcelliError: where none of the pictures could be used, among others. The server needs the setting ``taught_dir``.
        """
        creation = _plan.created(embedder, method, false_alarms)
        return self._run(
            _plan.teach(model, label, _plan.pictures(images), name, creation, self._retries, self._limits), timeout)

    def taught(self, name: str, *, timeout: Optional[float] = None) -> Taught:
        """A taught model: its classes, and in ``evaluation`` how well it recognizes its own examples (None while it has none)."""
        return self._run(_plan.taught(name, self._retries), timeout)

    def examples(
        self, name: str, *, label: Optional[str] = None, timeout: Optional[float] = None
    ) -> list[Example]:
        """The examples of a taught model, sorted by id; only those of `label`, if it is given. Reads all pages of the list.

        Examples that are taught or forgotten meanwhile may be missing or included; each of the others is included once.
        """
        return self._run(_plan.examples(name, label, self._retries), timeout)

    def kept(
        self, *, model: Optional[str] = None, why: Optional[str] = None, timeout: Optional[float] = None
    ) -> list[Kept]:
        """The pictures that the server has kept, newest first: those of `model`, and kept for the reason `why`, if these are given.

        Reads all pages of the list. The server needs the setting ``keep_dir``.

        Args:
            model: the model that answered.
            why: ``uncertain``, ``unknown`` or ``disagree``.
            timeout: as for `classify`.
        """
        return self._run(_plan.kept(model, why, self._retries), timeout)

    def kept_picture(self, id: str, *, timeout: Optional[float] = None) -> bytes:
        """A kept picture, as it was sent, by its id."""
        return self._run(_plan.kept_picture(id, self._retries), timeout)

    def delete_kept(
        self, id: Optional[str] = None, *, model: Optional[str] = None, timeout: Optional[float] = None
    ) -> None:
        """Deletes a kept picture by its id, or all kept pictures of `model`, for good."""
        self._run(_plan.delete_kept(id, model, self._retries), timeout)

    def search(
        self, name: str, image: Optional[Image] = None, *, text: Optional[str] = None, top: Optional[int] = None,
        label: Optional[str] = None, crop: Optional[str] = None, orientation: Orientation = None, timeout: Optional[float] = None,
    ) -> SearchResult:
        """The examples of a taught model that are nearest to a picture or a text, the nearest first.

        Args:
            name: the taught model's name.
            image: a path, bytes or a binary file.
            text: a text in place of a picture, where the taught model's embedder takes texts.
            top: the most examples of the answer, 1 to 1,000; 10 without it.
            label: finds examples of this class only.
            crop, orientation, timeout: as for `classify`.

        Returns:
            A `SearchResult`: ``examples`` have ``id``, ``label``, ``name`` and ``similarity``, the cosine of the embeddings.
        """
        query = {"crop": crop, "orientation": orientation}
        return self._run(_plan.search(name, image, text, top, label, query, self._retries), timeout)

    def anomaly(
        self, name: str, image: Image, *, map: bool = False, crop: Optional[str] = None, orientation: Orientation = None,
        timeout: Optional[float] = None,
    ) -> AnomalyResult:
        """How unusual a picture is for a model that was taught normal pictures.

        Args:
            name: the model's name: a taught model with the method ``normal``, or a bundle of ``ocelli teach --normal``.
            image: a path, bytes or a binary file.
            map: whether the result has ``map``, a NumPy array with the distance of each patch of the picture, for a model that
                compares patches (400 for others).
            crop, orientation, timeout: as for `classify`.

        Returns:
            An `AnomalyResult`: ``score``, ``threshold``, ``p`` and ``is_anomaly``, which is None while there are too few normal pictures.

        Raises:
            ValueError: where the model tells classes apart.
        """
        query = {"map": "true" if map else None, "crop": crop, "orientation": orientation}
        return self._run(_plan.anomaly(name, image, query, self._retries), timeout)

    def export(self, name: str, *, timeout: Optional[float] = None) -> bytes:
        """A taught model's classifier as the bytes of a Core ML file, to run in an app behind the same embedder.

        Its input `embedding` is a vector as `embed` gives it; its outputs are `classLabel` and `classLabelProbs`.
        """
        return self._run(_plan.export(name, self._retries), timeout)

    # MARK: The rest

    def close(self) -> None:
        """Closes all connections. Calls in other threads end with `ConnectionError`."""
        self._pool.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._pool.address)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self._arguments,)

    def _is_ready(self) -> bool:
        """Whether the server is ready; raises `ConnectionError` if no server listens."""
        return self._pool.exchange(Request("GET", "/readyz"), Deadline(self._timeout)).status == 200

    def _images(
        self, task: _plan.Task, images: Union[Image, Iterable[Image]], model: Optional[str], version: Optional[str], query: Query,
        timeout: Optional[float], labels: Sequence[str] = (),
    ) -> Any:
        to = _plan.target(task.name, model, version, {**task.query, **query})
        if _plan.is_one(images):
            return self._run(_plan.one(task, next(_plan.pictures(images)), to, self._retries, labels), timeout)
        return self._run(_plan.several(task, _plan.pictures(images), to, self._retries, self._limits, labels), timeout)

    def _run(self, plan: Plan[Value], timeout: Optional[float]) -> Value:
        """Does what a plan wants, until its result."""
        deadline = Deadline(self._timeout if timeout is None else timeout)
        try:
            step = next(plan)
            while True:
                try:
                    answer = self._step(step, deadline)
                except (OSError, OcelliError) as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as end:
            result: Value = end.value
            return result

    def _step(self, step: _plan.Step, deadline: Deadline) -> Any:
        if isinstance(step, Exchange):
            return self._pool.exchange(step.request, deadline)
        if isinstance(step, Read):
            return _plan.read(step.image, self._storage)
        if isinstance(step, Revive):
            if self._revive is None or isinstance(step.because, Closed):
                raise step.because
            return self._revive(deadline.left)
        left = deadline.left
        if left is not None and step.seconds > left:
            raise _late(step, deadline.seconds)
        if self._pool.closed.wait(step.seconds):
            raise Closed("the client was closed during the call")
        return None


def _late(wait: Wait, seconds: Optional[float]) -> TimeoutError:
    """The error of a call whose deadline is before it may try again."""
    error = TimeoutError(
        f"the call did not end within {seconds:g} s (timeout): the server asks to wait {wait.seconds:.1f} s: {wait.because}")
    error.__cause__ = wait.because
    return error


def _remade(arguments: dict[str, Any]) -> Client:
    return Client(**arguments)




"""The answers of the server, as typed values."""

from __future__ import annotations

import base64
import dataclasses
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from . import _pixels
from ._errors import OcelliError, of_picture

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Picture:
    """The picture as the server saw it: its format, and its stored size (before its orientation was applied)."""

    format: str
    width: int
    height: int
    orientation: int
    #: The size as displayed, to which boxes and masks refer.
    displayed_width: int
    displayed_height: int


@dataclasses.dataclass(frozen=True)
class _Answer:
    """The members of every answer."""

    #: The model's name.
    model: str
    #: The version that answered.
    version: str
    #: The number of the request in the server's log.
    request_id: str
    #: The picture; None for ``predict`` without a picture.
    image: Optional[Picture]
    #: Milliseconds of each stage: ``queue``, ``decode``, ``inference``, ``total``.
    timing_ms: Mapping[str, float]
    #: The whole answer as JSON, with members that this package does not know.
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Classification:
    """A class that the picture may show."""

    label: str
    index: int
    #: From 0 to 1, or the model's score where the model gives no confidences.
    confidence: float
    #: With ``labels``: the cosine of the picture's vector with the label's, from -1 to 1; otherwise None.
    similarity: Optional[float] = None
    #: Whether the label in its prompt was longer than the model reads.
    truncated: bool = False


@dataclasses.dataclass(frozen=True)
class ClassifyResult(_Answer):
    """The answer of ``classify``: classes, the most probable first."""

    classifications: tuple[Classification, ...]
    #: Of a taught model: the cosine distance to the nearest example of the first class, and whether it is near enough to be known.
    distance: Optional[float] = None
    known: Optional[bool] = None
    #: With ``coverage``: the labels that may be right, the most probable first; it may be empty. Otherwise None.
    set: Optional[tuple[str, ...]] = None
    #: With ``coverage``: whether the set has not exactly one label, so that no label is sure enough.
    abstain: Optional[bool] = None


@dataclasses.dataclass(frozen=True)
class AnomalyResult(_Answer):
    """The answer of ``anomaly``: how unusual a picture is among the normal pictures that a model was taught."""

    #: The cosine distance to the nearest normal picture, from 0 to 2.
    score: float
    #: The score above which a picture is an anomaly; None while there are too few normal pictures.
    threshold: Optional[float]
    #: The share of normal pictures that are as unusual; None until the model was evaluated.
    p: Optional[float]
    #: Whether the score is above the threshold; None without one.
    is_anomaly: Optional[bool]
    #: The distance of each patch to the nearest normal one, rows from the top of the picture as displayed; None unless it was asked for.
    map: Optional[NDArray[numpy.float64]] = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True)
class Box:
    """A rectangle in pixels of the displayed picture, from its top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclasses.dataclass(frozen=True)
class Keypoint:
    """A named point in pixels of the displayed picture."""

    name: str
    x: float
    y: float
    confidence: Optional[float]


@dataclasses.dataclass(frozen=True)
class Point:
    """A place in pixels of the displayed picture."""

    x: float
    y: float


@dataclasses.dataclass(frozen=True)
class Detection:
    """A thing that was found."""

    label: str
    index: int
    confidence: float
    box: Box
    #: Points of the thing (the eyes of a face); None in place of one that was not found.
    keypoints: tuple[Optional[Keypoint], ...]
    #: The answers of a pipeline's stages by name, as JSON; of a stage that failed ``error`` and ``code``. Empty for a model.
    stages: Mapping[str, Any]
    #: The detection as JSON.
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)
    #: The corners of a turned box, which `box` surrounds: first the one that is top left before turning, then along the width; empty for
    #: an upright box.
    points: tuple[Point, ...] = ()
    #: The angle of a turned box in radians, clockwise as seen; None for an upright box.
    angle: Optional[float] = None

    @property
    def mask(self) -> Optional[NDArray[numpy.bool_]]:
        """The pixels of the thing: a NumPy array of booleans, height by width of the displayed picture; None without a mask."""
        mask = self.raw.get("mask")
        return None if mask is None else _pixels.decoded_runs(mask)


@dataclasses.dataclass(frozen=True)
class DetectResult(_Answer):
    """The answer of ``detect``: the most confident first."""

    detections: tuple[Detection, ...]


@dataclasses.dataclass(frozen=True)
class Segment:
    """A class of a segmented picture, and how many pixels it has."""

    label: str
    index: int
    area: int


@dataclasses.dataclass(frozen=True)
class SegmentResult(_Answer):
    """The answer of ``segment``: the class of each pixel."""

    segments: tuple[Segment, ...]
    #: The mask as PNG, as it came.
    png: bytes = dataclasses.field(repr=False)

    @property
    def mask(self) -> NDArray[numpy.unsignedinteger[Any]]:
        """The number of each pixel's class: a NumPy array, height by width of the displayed picture."""
        return _pixels.decoded_png(self.png)


@dataclasses.dataclass(frozen=True)
class KeypointsResult(_Answer):
    """The answer of ``keypoints``: one entry a point, None for one that was not found."""

    keypoints: tuple[Optional[Keypoint], ...]


@dataclasses.dataclass(frozen=True)
class EmbedResult(_Answer):
    """The answer of ``embed``."""

    #: The vector: a NumPy array of float32.
    embedding: NDArray[numpy.float32] = dataclasses.field(compare=False)
    #: Of a text: how many tokens the model read; None for a picture.
    tokens: Optional[int] = None
    #: Of a text: whether it was longer than the model reads; None for a picture.
    truncated: Optional[bool] = None


@dataclasses.dataclass(frozen=True)
class Character:
    """A character of a line: an entry of the recognizer's dictionary, which may be several code points."""

    text: str
    confidence: float
    #: Its corners, in the order of the line's.
    points: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of text."""

    text: str
    confidence: float
    #: The corners, clockwise as seen, the first where reading begins.
    points: tuple[Point, ...]
    #: The upright rectangle around them.
    box: Box
    #: Its characters, where they were asked for (``characters=True``); otherwise empty. Joined they are `text`.
    characters: tuple[Character, ...] = ()


@dataclasses.dataclass(frozen=True)
class ReadResult(_Answer):
    """The answer of ``read``: the text of the picture."""

    #: The lines in reading order: those of a row separated by spaces, rows by line feeds.
    text: str
    lines: tuple[Line, ...]
    #: How many regions a limit of the server left unread.
    skipped: int = 0


@dataclasses.dataclass(frozen=True)
class PredictResult(_Answer):
    """The answer of ``predict``: the model's outputs by name, as in its model.json."""

    outputs: Mapping[str, Any]

    def depth(self, name: Optional[str] = None) -> NDArray[numpy.float32]:
        """The depth of each pixel: a NumPy array of float32, height by width of the displayed picture.

        `name` is the output; it may be left out where only one output is a depth map.
        """
        maps = {key: value for key, value in self.outputs.items() if isinstance(value, dict) and {"b64", "min", "max"} <= value.keys()}
        if name is None and len(maps) == 1:
            name = next(iter(maps))
        if name is None or name not in maps:
            raise KeyError(f"expected the name of a depth map ({', '.join(maps) or 'the model has none'}), found {name!r}")
        return _pixels.decoded_depth(maps[name])


@dataclasses.dataclass(frozen=True)
class Model:
    """A model that the server has."""

    name: str
    #: The version that serves; empty where none does.
    version: str
    #: ``loading``, ``ready``, ``unloaded`` or ``failed``.
    state: str
    #: Why it failed; empty otherwise.
    reason: str
    #: Every version with its state.
    versions: Mapping[str, str]
    #: ``detect``, ``embed`` and so on; ``classify`` where it has labels.
    tasks: tuple[str, ...]
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class TaughtClass:
    """A class of a taught model."""

    label: str
    examples: int
    #: How many of its examples were recognized; None until it has two.
    accuracy: Optional[float]


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """How well a taught model recognizes its own examples when they are left out."""

    version: str
    method: str
    examples: int
    #: None for the method ``normal``, which has one class.
    correct: Optional[int]
    #: None where no example could be left out: each class has only one.
    accuracy: Optional[float]
    #: Between which the true accuracy lies (95 %).
    interval: Optional[tuple[float, float]]
    #: The greatest distance at which a picture counts as known.
    threshold: Optional[float]
    #: What would help most.
    advice: str
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Example:
    """A picture that was taught: its id is the SHA-256 of its bytes."""

    id: str
    label: str
    #: False where the model knew it already, and in lists.
    new: bool
    #: In lists: when it was taught, as ISO 8601 has it; otherwise empty.
    added: str = ""
    #: In lists: your own name for it; None without one.
    name: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Kept:
    """A picture that the server has kept: its id is the SHA-256 of its bytes."""

    id: str
    #: The model that answered, and its version.
    model: str
    version: str
    #: Why it is kept: ``uncertain``, ``unknown`` or ``disagree``, one or several.
    why: tuple[str, ...]
    #: When it was answered, as ISO 8601 has it.
    at: str
    #: Its size.
    bytes: int
    #: Its media type, such as ``image/jpeg``.
    type: str


@dataclasses.dataclass(frozen=True)
class Near:
    """An example that a search found."""

    id: str
    label: str
    #: Your own name for it; None without one.
    name: Optional[str]
    #: The cosine of its embedding with that of the picture or the text, from -1 to 1.
    similarity: float


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """The examples of a taught model that are nearest to a picture or a text, the nearest first."""

    examples: tuple[Near, ...]
    request_id: str
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class DriftSpan:
    """Some pictures of a model, in the order in which they came."""

    pictures: int
    #: When the first and the last of them came (ISO 8601); None without a picture.
    first: Optional[str]
    last: Optional[str]


@dataclasses.dataclass(frozen=True)
class DriftSignal:
    """What is measured of each picture of a model, or of its answer."""

    #: ``confidence``, ``entropy``, ``labels``, ``brightness``, ``contrast``, ``sharpness``, ``size``, ``known`` or ``vector``.
    name: str
    #: The means of the reference and of the last 200 pictures; None without a picture.
    reference: Optional[float]
    recent: Optional[float]
    #: The evidence of a change; about the number of pictures since the reference, if there was none.
    evidence: float
    drifted: bool


@dataclasses.dataclass(frozen=True)
class Drift:
    """Whether a model's pictures, and its answers, are still like the first ones."""

    #: ``learning``, ``steady`` or ``drifted``.
    state: str
    #: When that began (ISO 8601).
    since: str
    reference: DriftSpan
    recent: DriftSpan
    signals: tuple[DriftSignal, ...]
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Taught:
    """A taught model: a classifier made of an embedding model and of examples."""

    name: str
    embedder: str
    version: str
    #: ``empty``, ``ready`` or ``stale``; empty text where it is not known yet.
    state: str
    classes: tuple[TaughtClass, ...]
    #: True while the newest version is being evaluated; `evaluation` is then an older one, or None.
    evaluating: bool
    evaluation: Optional[Evaluation]
    #: What this call of ``teach`` added.
    added: tuple[Example, ...]
    #: Pictures of this call that could not be used.
    errors: tuple[OcelliError, ...]
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)


Result = Union[ClassifyResult, DetectResult, SegmentResult, KeypointsResult, EmbedResult, ReadResult, PredictResult]

# MARK: From JSON


def _base(answer: Mapping[str, Any]) -> dict[str, Any]:
    image = answer.get("image")
    picture = None
    if isinstance(image, dict):
        width, height = int(image.get("width", 0)), int(image.get("height", 0))
        displayed = image.get("displayed") or {}
        picture = Picture(
            str(image.get("format", "")), width, height, int(image.get("orientation", 1)),
            int(displayed.get("width", width)), int(displayed.get("height", height)))
    timing = {name: value for name, value in (answer.get("timing_ms") or {}).items() if isinstance(value, (int, float))}
    return {
        "model": str(answer.get("model", "")), "version": str(answer.get("version", "")),
        "request_id": str(answer.get("request_id", "")), "image": picture, "timing_ms": timing, "raw": answer,
    }


def _keypoints(points: Any) -> tuple[Optional[Keypoint], ...]:
    return tuple(
        None if point is None else Keypoint(str(point.get("name", "")), point["x"], point["y"], point.get("confidence"))
        for point in points or ())


def classified(answer: Mapping[str, Any]) -> ClassifyResult:
    found = tuple(
        Classification(
            str(one.get("label", "")), int(one["index"]), float(one["confidence"]), one.get("similarity"), bool(one.get("truncated", False)))
        for one in answer["classifications"])
    labels = answer.get("set")
    return ClassifyResult(
        **_base(answer), classifications=found, distance=answer.get("distance"), known=answer.get("known"),
        set=None if labels is None else tuple(str(label) for label in labels), abstain=answer.get("abstain"))


def anomaly(answer: Mapping[str, Any]) -> AnomalyResult:
    found = answer.get("anomaly")
    if found is None:
        raise ValueError(f"the model {answer.get('model')!r} was not taught with the method normal: its answer has no anomaly")
    return AnomalyResult(
        **_base(answer), score=float(found["score"]), threshold=found.get("threshold"), p=found.get("p"), is_anomaly=found.get("is_anomaly"),
        map=_pixels.decoded_map(found["map"]) if "map" in found else None)


#: The members that a detection has itself; an object under another name is the answer of a stage.
_OWN = frozenset(("index", "label", "confidence", "box", "points", "angle", "keypoints", "mask"))


def _stages(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said for name, said in one.items() if name not in _OWN and isinstance(said, dict)}


def _box(box: Mapping[str, Any]) -> Box:
    return Box(*(float(box[name]) for name in ("x", "y", "width", "height")))


def _corners(points: Any) -> tuple[Point, ...]:
    return tuple(Point(float(point["x"]), float(point["y"])) for point in points or ())


def detected(answer: Mapping[str, Any]) -> DetectResult:
    return DetectResult(**_base(answer), detections=tuple(
        Detection(
            str(one.get("label", "")), int(one["index"]), float(one["confidence"]), _box(one["box"]), _keypoints(one.get("keypoints")),
            _stages(one), one, _corners(one.get("points")), one.get("angle"))
        for one in answer["detections"]))


def segmented(answer: Mapping[str, Any]) -> SegmentResult:
    found = tuple(Segment(str(one.get("label", "")), int(one["index"]), int(one["area"])) for one in answer["segments"])
    return SegmentResult(**_base(answer), segments=found, png=base64.b64decode(answer["mask"]["b64"]))


def pointed(answer: Mapping[str, Any]) -> KeypointsResult:
    return KeypointsResult(**_base(answer), keypoints=_keypoints(answer["keypoints"]))


def embedded(answer: Mapping[str, Any]) -> EmbedResult:
    return EmbedResult(
        **_base(answer), embedding=_pixels.decoded_vector(answer["embedding"]), tokens=answer.get("tokens"), truncated=answer.get("truncated"))


def read(answer: Mapping[str, Any]) -> ReadResult:
    return ReadResult(**_base(answer), text=str(answer["text"]), skipped=int(answer.get("skipped", 0)), lines=tuple(
        Line(
            str(one["text"]), float(one["confidence"]), _corners(one["points"]), _box(one["box"]),
            tuple(Character(str(each["text"]), float(each["confidence"]), _corners(each["points"])) for each in one.get("characters") or ()))
        for one in answer["lines"]))


def predicted(answer: Mapping[str, Any]) -> PredictResult:
    return PredictResult(**_base(answer), outputs=answer["outputs"])


def model(answer: Mapping[str, Any]) -> Model:
    versions = {str(one["version"]): str(one["state"]) for one in answer.get("versions") or ()}
    tasks = tuple(str(task) for task in answer.get("tasks") or ())
    if not tasks and answer.get("labels"):
        tasks = ("classify",)
    reason = answer.get("reason") or next((one["reason"] for one in answer.get("versions") or () if one.get("reason")), "")
    return Model(
        str(answer["name"]), str(answer.get("version") or ""), str(answer.get("state", "")), str(reason), versions, tasks, answer)


def evaluation(answer: Optional[Mapping[str, Any]]) -> Optional[Evaluation]:
    if answer is None:
        return None
    interval = answer.get("interval")
    return Evaluation(
        str(answer["version"]), str(answer["method"]), int(answer["examples"]), answer.get("correct"), answer.get("accuracy"),
        None if interval is None else (float(interval[0]), float(interval[1])), answer.get("threshold"), str(answer.get("advice") or ""), answer)


def kept(answer: Mapping[str, Any]) -> list[Kept]:
    return [
        Kept(
            str(one["id"]), str(one["model"]), str(one["version"]), tuple(str(why) for why in one["why"]), str(one["at"]), int(one["bytes"]),
            str(one["type"]))
        for one in answer["kept"]
    ]


def examples(answer: Mapping[str, Any]) -> list[Example]:
    return [Example(str(one["id"]), str(one["label"]), False, str(one.get("added", "")), one.get("name")) for one in answer["examples"]]


def found(answer: Mapping[str, Any], request_id: str) -> SearchResult:
    return SearchResult(
        tuple(Near(str(one["id"]), str(one["label"]), one.get("name"), float(one["similarity"])) for one in answer["examples"]), request_id,
        answer)


def taught(answers: list[Mapping[str, Any]], errors: list[OcelliError]) -> Taught:
    """The taught model as in the last of several answers, with the examples that all of them added."""
    last = answers[-1]
    request_id = str(last.get("request_id", ""))
    failed = [of_picture(one, request_id) for answer in answers for one in answer.get("errors") or ()]
    return Taught(
        str(last["name"]), str(last["embedder"]["model"]), str(last.get("version") or ""), str(last["state"] or ""),
        tuple(TaughtClass(str(one["label"]), int(one["examples"]), one.get("accuracy")) for one in last.get("classes") or ()),
        bool(last.get("evaluating", False)), evaluation(last.get("evaluation")),
        tuple(
            Example(str(one["id"]), str(one["label"]), bool(one.get("new", True)))
            for answer in answers for one in answer.get("added") or ()),
        tuple(failed + errors), last)


def _drift_span(answer: Any) -> DriftSpan:
    return DriftSpan(int(answer["pictures"]), answer.get("from"), answer.get("to"))


def drift(answer: Mapping[str, Any]) -> Drift:
    """The drift of a model, of the server's answer."""
    signals = tuple(
        DriftSignal(
            str(each["name"]), _number(each.get("reference")), _number(each.get("recent")), float(each["evidence"]),
            bool(each["drifted"]))
        for each in answer["signals"])
    return Drift(
        str(answer["state"]), str(answer["since"]), _drift_span(answer["reference"]), _drift_span(answer["recent"]), signals, answer)


def _number(value: Any) -> Optional[float]:
    return None if value is None else float(value)

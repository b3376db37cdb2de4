"""Columns of pictures into columns of answers: what Ray, Spark and Dask share.

Pictures travel as they are, encoded; only a batch at a time is in memory.
"""

from __future__ import annotations

import dataclasses
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from ._client import Client
from ._daemon import LocalDaemon, Models
from ._errors import OcelliError

if TYPE_CHECKING:
    import pyarrow

#: The name of the column with the sentence of a picture that failed.
ERROR = "error"


def _classifications(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"classifications": [
        {"label": one.label, "index": one.index, "confidence": one.confidence} for one in result.classifications]}
    return found if result.set is None else {**found, "set": list(result.set), "abstain": result.abstain}


def _points(points: Iterable[Any]) -> list[Any]:
    return [
        None if one is None else {"name": one.name, "x": one.x, "y": one.y, "confidence": one.confidence} for one in points]


def _detections(result: Any) -> dict[str, Any]:
    return {"detections": [
        {
            "label": one.label, "index": one.index, "confidence": one.confidence, "box": dataclasses.asdict(one.box),
            "points": [dataclasses.asdict(point) for point in one.points], "angle": one.angle,
            "keypoints": _points(one.keypoints), "mask": one.raw.get("mask"),
        } for one in result.detections]}


def _segments(result: Any) -> dict[str, Any]:
    return {"segments": [dataclasses.asdict(one) for one in result.segments], "mask": result.png}


def _lines(result: Any) -> dict[str, Any]:
    return {"text": result.text, "lines": [
        {
            "text": one.text, "confidence": one.confidence, "points": [dataclasses.asdict(point) for point in one.points],
            "box": dataclasses.asdict(one.box),
        } for one in result.lines]}


@dataclasses.dataclass(frozen=True)
class Kind:
    """A task's columns, as types in a notation of two engines: ``list<...>``, ``{name: type}``, and names of scalars."""

    columns: Mapping[str, Any]
    values: Callable[[Any], dict[str, Any]]


_FOUND = {"label": "string", "index": "int32", "confidence": "double"}
_BOX = {name: "double" for name in ("x", "y", "width", "height")}
_CORNERS = [{"x": "double", "y": "double"}]
_POINTS = [{"name": "string", "x": "double", "y": "double", "confidence": "double"}]
#: By the task's name. A list stands for a list of what is in it, a dictionary for a structure.
KINDS: Mapping[str, Kind] = {
    "classify": Kind({"classifications": [_FOUND]}, _classifications),
    "detect": Kind(
        {"detections": [{
            **_FOUND, "box": _BOX, "points": _CORNERS, "angle": "double", "keypoints": _POINTS,
            "mask": {"size": ["int32"], "counts": "string"}}]}, _detections),
    "segment": Kind({"segments": [{"label": "string", "index": "int32", "area": "int64"}], "mask": "binary"}, _segments),
    "keypoints": Kind({"keypoints": _POINTS}, lambda result: {"keypoints": _points(result.keypoints)}),
    "embed": Kind({"embedding": ["float"]}, lambda result: {"embedding": result.embedding}),
    "read": Kind(
        {"text": "string", "lines": [{"text": "string", "confidence": "double", "points": _CORNERS, "box": _BOX}]}, _lines),
}


#: What ``coverage`` adds to ``classify``.
_SETS: Mapping[str, Any] = {"set": ["string"], "abstain": "bool"}


def columns(task: str, parameters: Optional[Mapping[str, Any]] = None) -> dict[str, Any]:
    """The columns that a task with these parameters adds, with their types.

    >>> columns("embed")
    {'embedding': ['float'], 'error': 'string'}
    >>> list(columns("classify", {"coverage": 0.9}))
    ['classifications', 'set', 'abstain', 'error']
    """
    if task not in KINDS:
        raise ValueError(f"task: expected one of {', '.join(KINDS)}, found {task!r}")
    has_sets = task == "classify" and (parameters or {}).get("coverage") is not None
    return {**KINDS[task].columns, **(_SETS if has_sets else {}), ERROR: "string"}


def arrow_type(kind: Any) -> pyarrow.DataType:
    """A type for pyarrow."""
    import pyarrow as arrow

    if isinstance(kind, list):
        return arrow.list_(arrow_type(kind[0]))
    if isinstance(kind, dict):
        return arrow.struct([arrow.field(name, arrow_type(each)) for name, each in kind.items()])
    scalars = {
        "string": arrow.string, "int32": arrow.int32, "int64": arrow.int64, "double": arrow.float64, "float": arrow.float32,
        "binary": arrow.binary, "bool": arrow.bool_,
    }
    return scalars[kind]()


class Worker:
    """Asks the daemon of this machine for columns of answers.

    Without `url` it shares a `LocalDaemon` with all other workers of the machine. Everything is checked and started at once, so a wrong
    model or a missing program ends the job with a sentence.
    """

    def __init__(
        self, task: str, models: Models = None, *, url: Optional[str] = None, token: Optional[str] = None,
        model: Optional[str] = None, version: Optional[str] = None, parameters: Optional[Mapping[str, Any]] = None,
        timeout: float = 600, storage_options: Optional[Mapping[str, Any]] = None, ocelli: Optional[str] = None, **settings: Any,
    ) -> None:
        self._kind = KINDS[task]
        self.columns = columns(task, parameters)
        self._task = task
        # Bulk work waits while the server has too much to do; its deadline ends that.
        arguments: dict[str, Any] = {
            "token": token, "timeout": timeout, "retries": 1000, "storage_options": storage_options}
        self._daemon: Optional[LocalDaemon] = None
        if url is None:
            self._daemon = LocalDaemon(models, ocelli=ocelli, **settings)
            self.client = self._daemon.client(**arguments)
        elif models is not None or settings:
            raise ValueError("url= names a server that runs: models and settings are its own")
        else:
            self.client = Client(url, **arguments)
        self._query = {"model": model, "version": version, **(parameters or {})}

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.client.close()
        if self._daemon is not None:
            self._daemon.close()

    def answers(self, pictures: Sequence[Union[bytes, str, None]]) -> dict[str, list[Any]]:
        """The task's columns, and the errors, for a column of pictures: bytes, or paths and URLs."""
        there = [place for place, picture in enumerate(pictures) if picture is not None]
        call = getattr(self.client, self._task)
        results = call([pictures[place] for place in there], **self._query) if there else []
        found: dict[str, list[Any]] = {name: [None] * len(pictures) for name in self.columns}
        found[ERROR] = ["there is no picture: the value is null"] * len(pictures)
        for place, result in zip(there, results):
            if isinstance(result, OcelliError):
                found[ERROR][place] = result.message
                continue
            found[ERROR][place] = None
            for name, value in self._kind.values(result).items():
                found[name][place] = value
        return found

    def table(self, table: pyarrow.Table, column: str, keep: bool) -> pyarrow.Table:
        """A table of Arrow with the columns of the answers, less the pictures'."""
        import pyarrow as arrow

        check_columns(table.column_names, column, self.columns, keep)
        answers = self.answers(table.column(column).to_pylist())
        if not keep:
            table = table.drop_columns([column])
        for name, values in answers.items():
            table = table.append_column(arrow.field(name, arrow_type(self.columns[name])), arrow.array(values, arrow_type(self.columns[name])))
        return table


def check_columns(there: Sequence[str], column: str, added: Iterable[str], keep: bool) -> None:
    """Raises where the column of pictures is missing, or another would be covered."""
    if column not in there:
        raise ValueError(f"there is no column {column!r}: expected one with pictures (column=), found {', '.join(map(str, there))}")
    covered = [name for name in added if name in there and (keep or name != column)]
    if covered:
        raise ValueError(f"the data has a column {covered[0]!r} already, which the answers need: rename it first")

"""Models over data frames of Dask::

    dask_frame.map_partitions(ocelli.dask.classify, models="DIR", column="bytes", meta=ocelli.dask.meta("classify", dask_frame))

The workers of a machine share one daemon (`ocelli.LocalDaemon`). Encoded pictures are in a column of objects: read it with
``dask.config.set({"dataframe.convert-string": False})``, for Dask otherwise turns bytes into text.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from . import _tables
from ._daemon import Models


def _mapped(task: str, frame: Any, models: Models, column: str, keep: bool, arguments: dict[str, Any]) -> Any:
    added = _tables.columns(task, arguments.get("parameters"))
    _tables.check_columns(list(frame.columns), column, added, keep)
    pictures = [_picture(value) for value in frame[column]]
    with _tables.Worker(task, models, **arguments) as worker:
        answers = worker.answers(pictures)
    return _with(frame, answers, column, keep, added)


def _picture(value: Any) -> Any:
    """Missing values have several forms in pandas."""
    return value if isinstance(value, (bytes, bytearray, memoryview, str)) else None


def _with(frame: Any, answers: dict[str, list[Any]], column: str, keep: bool, added: dict[str, Any]) -> Any:
    import pandas
    import pyarrow as arrow

    frame = frame if keep else frame.drop(columns=[column])
    series = {
        name: pandas.Series(
            pandas.arrays.ArrowExtensionArray(arrow.chunked_array([arrow.array(values, _tables.arrow_type(added[name]))])),
            index=frame.index)
        for name, values in answers.items()}
    return frame.assign(**series)


def classify(frame: Any, models: Models = None, *, column: str = "bytes", keep: bool = False, **arguments: Any) -> Any:
    """A partition (a data frame of pandas) with ``classifications`` and ``error``, and with a ``coverage`` ``set`` and ``abstain``.

    Args:
        models: the folder of models, on every machine.
        column: the column of pictures: bytes, or paths and URLs.
        keep: whether that column stays; say it to `meta`, too.
        arguments: those of `ocelli.ray.Classify`: ``model``, ``parameters``, ``url``, ``timeout``, settings of the daemon.
    """
    return _mapped("classify", frame, models, column, keep, arguments)


def detect(frame: Any, models: Models = None, *, column: str = "bytes", keep: bool = False, **arguments: Any) -> Any:
    """As `classify`; adds ``detections``."""
    return _mapped("detect", frame, models, column, keep, arguments)


def segment(frame: Any, models: Models = None, *, column: str = "bytes", keep: bool = False, **arguments: Any) -> Any:
    """As `classify`; adds ``segments`` and ``mask``."""
    return _mapped("segment", frame, models, column, keep, arguments)


def keypoints(frame: Any, models: Models = None, *, column: str = "bytes", keep: bool = False, **arguments: Any) -> Any:
    """As `classify`; adds ``keypoints``."""
    return _mapped("keypoints", frame, models, column, keep, arguments)


def embed(frame: Any, models: Models = None, *, column: str = "bytes", keep: bool = False, **arguments: Any) -> Any:
    """As `classify`; adds ``embedding``."""
    return _mapped("embed", frame, models, column, keep, arguments)


def read(frame: Any, models: Models = None, *, column: str = "bytes", keep: bool = False, **arguments: Any) -> Any:
    """As `classify`; adds ``text`` and ``lines``."""
    return _mapped("read", frame, models, column, keep, arguments)


def meta(
    task: str, frame: Any, *, column: str = "bytes", keep: bool = False, parameters: Optional[Mapping[str, Any]] = None
) -> Any:
    """An empty frame with the columns of a task with these parameters, which Dask wants as ``meta``."""
    added = _tables.columns(task, parameters)
    _tables.check_columns(list(frame.columns), column, added, keep)
    empty = getattr(frame, "_meta", frame).iloc[:0]
    return _with(empty, {name: [] for name in added}, column, keep, added)


__all__ = ["classify", "detect", "embed", "keypoints", "meta", "read", "segment"]

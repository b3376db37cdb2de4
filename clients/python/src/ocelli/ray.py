"""Models over data sets of Ray::

    dataset.map_batches(
        ocelli.ray.Classify, fn_constructor_kwargs={"models": "DIR", "column": "bytes"}, batch_format="pyarrow", concurrency=2)

The actors of a machine share one daemon (`ocelli.LocalDaemon`): a model is loaded once a machine, however many actors there are. Two or
three actors keep it busy. Each class adds columns: `Classify` adds ``classifications``, `Detect` ``detections``, `Segment` ``segments`` and
``mask`` (PNG), `Keypoints` ``keypoints``, `Embed` ``embedding``, `Read` ``text`` and ``lines``; and all ``error``, null or the sentence of a picture that failed.
"""

from __future__ import annotations

from typing import Any, ClassVar, Mapping, Optional

from ._daemon import Models
from ._tables import Worker


class _Actor:
    _task: ClassVar[str]

    def __init__(
        self, models: Models = None, *, column: str = "bytes", keep: bool = False, url: Optional[str] = None,
        token: Optional[str] = None, model: Optional[str] = None, version: Optional[str] = None,
        parameters: Optional[Mapping[str, Any]] = None, timeout: float = 600,
        storage_options: Optional[Mapping[str, Any]] = None, ocelli: Optional[str] = None, **settings: Any,
    ) -> None:
        """Joins the daemon of the machine, or starts it.

        Args:
            models: the folder of models, on every machine.
            column: the column of pictures: bytes, or paths and URLs.
            keep: whether that column stays.
            url, token: a server that runs already, in place of the machine's own daemon.
            model, version: which model; without, the default for the task.
            parameters: of the task, such as ``{"top": 3}``: see `ocelli.Client`.
            timeout: seconds for a batch.
            storage_options: fsspec's options for URLs.
            ocelli, settings: see `ocelli.LocalDaemon`.
        """
        self._column, self._keep = column, keep
        self._worker = Worker(
            self._task, models, url=url, token=token, model=model, version=version, parameters=parameters, timeout=timeout,
            storage_options=storage_options, ocelli=ocelli, **settings)

    def __call__(self, batch: Any) -> Any:
        """The batch with the answers' columns, as a table of Arrow."""
        import pyarrow as arrow

        if isinstance(batch, dict):
            # Ray's default, batch_format="numpy".
            batch = arrow.table({name: arrow.array(list(values)) for name, values in batch.items()})
        elif not isinstance(batch, arrow.Table):
            batch = arrow.Table.from_pandas(batch, preserve_index=False)
        return self._worker.table(batch, self._column, self._keep)


class Classify(_Actor):
    """Adds ``classifications``: a list of ``label``, ``index``, ``confidence``; with a ``coverage`` among the parameters ``set``, a list of
    labels, and ``abstain``."""

    _task = "classify"


class Detect(_Actor):
    """Adds ``detections``: a list of ``label``, ``index``, ``confidence``, ``box``, ``keypoints`` and ``mask`` (run lengths)."""

    _task = "detect"


class Segment(_Actor):
    """Adds ``segments``, a list of ``label``, ``index``, ``area``, and ``mask``, a PNG of class numbers."""

    _task = "segment"


class Keypoints(_Actor):
    """Adds ``keypoints``: a list of ``name``, ``x``, ``y``, ``confidence``."""

    _task = "keypoints"


class Embed(_Actor):
    """Adds ``embedding``: a list of float32."""

    _task = "embed"


class Read(_Actor):
    """Adds ``text``, and ``lines``: a list of ``text``, ``confidence``, ``points``, ``box``."""

    _task = "read"


__all__ = ["Classify", "Detect", "Embed", "Keypoints", "Read", "Segment"]

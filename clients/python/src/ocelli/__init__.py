"""Ocelli from Python: a client for one machine, and bulk work on Ray, Spark and Dask.

`Client` asks a server, `AsyncClient` does the same with asyncio, `LocalDaemon` runs a server that all processes of a machine share.
`ocelli.ray`, `ocelli.spark` and `ocelli.dask` run models over data sets, `ocelli.stores` reads pictures from object stores (fsspec), and
``python -m ocelli parquet`` turns the answers of ``ocelli classify --jsonl`` into Parquet. Start with ``help(ocelli.Client)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._async import AsyncClient
from ._client import Client
from ._errors import OcelliError
from ._frame import Frame
from ._daemon import LocalDaemon
from ._plan import Image
from ._results import (
    AnomalyResult, Box, Character, Classification, ClassifyResult, Detection, DetectResult, Drift, DriftSignal, DriftSpan, EmbedResult,
    Evaluation, Example, Kept, Keypoint, KeypointsResult, Line, Model, Near, Picture, Point, PredictResult, ReadResult, SearchResult, Segment,
    SegmentResult, Taught, TaughtClass,
)
from ._version import __version__

if TYPE_CHECKING:
    from . import dask, ray, spark, stores

__all__ = [
    "AnomalyResult", "AsyncClient", "Box", "Character", "Classification", "ClassifyResult", "Client", "DetectResult", "Detection", "Drift",
    "DriftSignal", "DriftSpan", "EmbedResult", "Evaluation", "Example", "Frame", "Image", "Kept", "Keypoint", "KeypointsResult", "Line",
    "LocalDaemon", "Model", "Near", "OcelliError", "Picture",
    "Point", "PredictResult", "ReadResult", "SearchResult", "Segment", "SegmentResult", "Taught", "TaughtClass", "__version__", "dask", "ray", "spark", "stores",
]


def __getattr__(name: str) -> Any:
    """The modules that need other packages, imported when they are used."""
    if name in ("dask", "ray", "spark", "stores"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

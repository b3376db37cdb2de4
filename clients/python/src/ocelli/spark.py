"""Models over data frames of Spark::

    frame.mapInArrow(ocelli.spark.classify(models="DIR", column="content"), schema=ocelli.spark.schema("classify", frame))

The Python workers of a machine share one daemon (`ocelli.LocalDaemon`). ``spark.read.format("binaryFile")`` gives the column ``content``.
Keep batches small enough for memory: ``spark.sql.execution.arrow.maxRecordsPerBatch`` (64, say).
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional

from . import _tables
from ._daemon import Models

Batches = Iterator[Any]


def _mapping(task: str, models: Models, column: str, keep: bool, arguments: dict[str, Any]) -> Callable[[Batches], Batches]:
    _tables.columns(task, arguments.get("parameters"))

    def mapped(batches: Batches) -> Batches:
        import pyarrow as arrow

        from ocelli._tables import Worker

        with Worker(task, models, **arguments) as worker:
            for batch in batches:
                table = worker.table(arrow.Table.from_batches([batch]), column, keep)
                yield from table.combine_chunks().to_batches()

    return mapped


def classify(models: Models = None, *, column: str = "content", keep: bool = False, **arguments: Any) -> Callable[[Batches], Batches]:
    """A function for ``mapInArrow`` that adds ``classifications`` and ``error``, and with a ``coverage`` ``set`` and ``abstain``.

    Args:
        models: the folder of models, on every machine.
        column: the column of pictures: binary, or paths and URLs.
        keep: whether that column stays; say it to `schema`, too.
        arguments: those of `ocelli.ray.Classify`: ``model``, ``parameters``, ``url``, ``timeout``, settings of the daemon.
    """
    return _mapping("classify", models, column, keep, arguments)


def detect(models: Models = None, *, column: str = "content", keep: bool = False, **arguments: Any) -> Callable[[Batches], Batches]:
    """As `classify`; adds ``detections``."""
    return _mapping("detect", models, column, keep, arguments)


def segment(models: Models = None, *, column: str = "content", keep: bool = False, **arguments: Any) -> Callable[[Batches], Batches]:
    """As `classify`; adds ``segments`` and ``mask``."""
    return _mapping("segment", models, column, keep, arguments)


def keypoints(models: Models = None, *, column: str = "content", keep: bool = False, **arguments: Any) -> Callable[[Batches], Batches]:
    """As `classify`; adds ``keypoints``."""
    return _mapping("keypoints", models, column, keep, arguments)


def embed(models: Models = None, *, column: str = "content", keep: bool = False, **arguments: Any) -> Callable[[Batches], Batches]:
    """As `classify`; adds ``embedding``."""
    return _mapping("embed", models, column, keep, arguments)


def read(models: Models = None, *, column: str = "content", keep: bool = False, **arguments: Any) -> Callable[[Batches], Batches]:
    """As `classify`; adds ``text`` and ``lines``."""
    return _mapping("read", models, column, keep, arguments)


def schema(
    task: str, frame: Any, *, column: str = "content", keep: bool = False, parameters: Optional[Mapping[str, Any]] = None
) -> Any:
    """The schema of a frame with a task's columns, for ``mapInArrow``; with the ``parameters`` of the task, if it has any."""
    from pyspark.sql import types

    def spark_type(kind: Any) -> Any:
        if isinstance(kind, list):
            return types.ArrayType(spark_type(kind[0]))
        if isinstance(kind, dict):
            return types.StructType([types.StructField(name, spark_type(each)) for name, each in kind.items()])
        return {
            "string": types.StringType, "int32": types.IntegerType, "int64": types.LongType, "double": types.DoubleType,
            "float": types.FloatType, "binary": types.BinaryType, "bool": types.BooleanType,
        }[kind]()

    added = _tables.columns(task, parameters)
    _tables.check_columns(frame.columns, column, added, keep)
    fields = [field for field in frame.schema.fields if keep or field.name != column]
    return types.StructType(fields + [types.StructField(name, spark_type(kind)) for name, kind in added.items()])


__all__ = ["classify", "detect", "embed", "keypoints", "read", "schema", "segment"]

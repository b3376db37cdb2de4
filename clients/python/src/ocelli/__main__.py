"""``python -m ocelli parquet ANSWERS.jsonl ANSWERS.parquet``: what ``ocelli classify --jsonl`` wrote, as Parquet (needs pyarrow)."""

from __future__ import annotations

import json
import sys
from typing import Any, Iterator

from . import _tables
from ._plan import TASKS

_ROWS = 4096


def rows(path: str) -> Iterator[dict[str, Any]]:
    """The lines of a file of answers."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}: line {number} is not JSON: {error}") from None
            if not isinstance(row, dict) or "file" not in row:
                raise ValueError(f'{path}: line {number} is not an answer: it has no "file"')
            yield row


def task_of(row: dict[str, Any]) -> str | None:
    """The task that an answer is of; None for an error."""
    names = {
        "classifications": "classify", "detections": "detect", "segments": "segment", "keypoints": "keypoints", "embedding": "embed",
        "lines": "read",
    }
    return next((task for name, task in names.items() if name in row), None)


def convert(source: str, target: str) -> int:
    """Writes the answers of a file as Parquet, a few thousand at a time. Returns how many."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    first = next((row for row in rows(source) if task_of(row) is not None), {})
    task = task_of(first)
    if task is None:
        raise ValueError(f"{source}: no line has an answer, so its columns are not known")
    # Answers with a coverage have sets of labels.
    added = _tables.columns(task, {"coverage": first.get("set")})
    columns = {"file": "string", "digest": "string", "model": "string", "version": "string", **added}
    schema = arrow.schema([(name, _tables.arrow_type(kind)) for name, kind in columns.items()])
    count = 0
    with parquet.ParquetWriter(target, schema) as writer:
        block: list[dict[str, Any]] = []

        def flush() -> None:
            writer.write_table(arrow.Table.from_pylist(block, schema=schema))
            block.clear()

        for row in rows(source):
            line = {name: row.get(name) for name in ("file", "digest", "model", "version", "error")}
            if task_of(row) == task:
                line.update(_tables.KINDS[task].values(TASKS[task].read(row)))
            elif row.get("error") is None:
                raise ValueError(f"{source}: the answer for {row['file']!r} is not of {task}, as those before it")
            block.append(line)
            count += 1
            if len(block) == _ROWS:
                flush()
        if block or not count:
            flush()
    return count


def main(arguments: list[str]) -> int:
    if len(arguments) != 3 or arguments[0] != "parquet":
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(f"{convert(arguments[1], arguments[2])} rows")
    except (OSError, ValueError, ImportError) as error:
        print(f"ocelli: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))



"""Masks and vectors as NumPy arrays. NumPy is imported where it is needed, so that ``import ocelli`` is fast."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Sequence

from ._errors import OcelliError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


def decoded_vector(value: Mapping[str, str] | Sequence[float]) -> NDArray[numpy.float32]:
    """An embedding: base64 of little-endian float32, or numbers.

    >>> decoded_vector([0.5, 1]).tolist(), decoded_vector({"b64": "AAAAPwAAgD8="}).tolist()
    ([0.5, 1.0], [0.5, 1.0])
    """
    import numpy

    if isinstance(value, Mapping):
        return numpy.frombuffer(base64.b64decode(value["b64"]), dtype="<f4").astype(numpy.float32)
    return numpy.asarray(value, dtype=numpy.float32)


def decoded_map(rows: Sequence[Sequence[float]]) -> NDArray[numpy.float64]:
    """Numbers in rows, as an array."""
    import numpy

    return numpy.asarray(rows, dtype=numpy.float64)


def decoded_runs(mask: Mapping[str, Any]) -> NDArray[numpy.bool_]:
    """COCO's compressed run lengths: runs of pixels outside and inside, column by column.

    Five bits a character, the sixth says that more follow; from the fourth run on a number is the difference to the run before the
    last.

    >>> decoded_runs({"size": [2, 3], "counts": "132"}).astype(int).tolist()
    [[0, 1, 0], [1, 1, 0]]
    """
    import numpy

    height, width = (int(side) for side in mask["size"])
    text = mask["counts"].encode("ascii")
    runs: list[int] = []
    place = 0
    while place < len(text):
        value = shift = 0
        more = True
        while more:
            if place == len(text):
                raise OcelliError("the mask's run lengths end in the middle of a number", code="bad_answer")
            character = text[place] - 48
            value |= (character & 0x1F) << shift
            more = bool(character & 0x20)
            place += 1
            shift += 5
            if not more and character & 0x10:
                value -= 1 << shift
        if len(runs) > 2:
            value += runs[-2]
        runs.append(value)
    if min(runs, default=0) < 0 or sum(runs) != height * width:
        raise OcelliError(f"the mask's run lengths do not add up to {height} x {width} pixels", code="bad_answer")
    inside = numpy.arange(len(runs)) % 2 == 1
    pixels: NDArray[numpy.bool_] = numpy.repeat(inside, runs).reshape(width, height).T
    return pixels


def decoded_png(png: bytes) -> NDArray[numpy.unsignedinteger[Any]]:
    """A gray PNG of 8 or 16 bits, as masks of classes are: exactly its numbers."""
    import numpy

    if png[:8] != b"\x89PNG\r\n\x1a\n":
        raise OcelliError("the mask is no PNG", code="bad_answer")
    width, height, bits, kind, _, _, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    if bits not in (8, 16) or kind not in (0, 3) or interlaced:
        raise OcelliError(f"the mask is a PNG of {bits} bits and type {kind}: expected 8 or 16 bits, gray", code="bad_answer")
    data, place = [], 8
    while place + 8 <= len(png):
        length, name = struct.unpack(">I4s", png[place: place + 8])
        if name == b"IDAT":
            data.append(png[place + 8: place + 8 + length])
        place += 12 + length
    step, line = bits // 8, width * bits // 8
    packed = numpy.frombuffer(zlib.decompress(b"".join(data)), dtype=numpy.uint8)
    if packed.size != height * (line + 1):
        raise OcelliError("the mask's PNG is cut off", code="bad_answer")
    rows = packed.reshape(height, line + 1)
    pixels = rows[:, 1:].copy()
    above = numpy.zeros(line, dtype=numpy.uint8)
    for row, kind in zip(pixels, rows[:, 0].tolist()):
        if kind == 1:
            row[:] = numpy.cumsum(row.reshape(-1, step), axis=0, dtype=numpy.uint8).reshape(-1)
        elif kind == 2:
            row += above
        elif kind in (3, 4):
            _unfilter(row, above, step, kind)
        above = row
    numbers: NDArray[numpy.unsignedinteger[Any]] = pixels if step == 1 else pixels.view(">u2").astype(numpy.uint16)
    return numbers


def decoded_depth(value: Mapping[str, Any]) -> NDArray[numpy.float32]:
    """A depth map: a PNG of 16 bits, from the smallest depth to the greatest."""
    import numpy

    steps = decoded_png(base64.b64decode(value["b64"])).astype(numpy.float64)
    depths: NDArray[numpy.float32] = (value["min"] + (value["max"] - value["min"]) * steps / 65535).astype(numpy.float32)
    return depths


def _unfilter(row: NDArray[numpy.uint8], above: NDArray[numpy.uint8], step: int, kind: int) -> None:
    """PNG's filters Average (3) and Paeth (4), byte by byte."""
    values, upper = row.tolist(), above.tolist()
    for place, value in enumerate(values):
        left = values[place - step] if place >= step else 0
        up = upper[place]
        if kind == 3:
            guess = (left + up) // 2
        else:
            corner = upper[place - step] if place >= step else 0
            ways = (abs(up - corner), abs(left - corner), abs(left + up - 2 * corner))
            guess = left if ways[0] <= ways[1] and ways[0] <= ways[2] else up if ways[1] <= ways[2] else corner
        values[place] = (value + guess) & 0xFF
    row[:] = values

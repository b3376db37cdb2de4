"""Raw frames: pixels without a file's header, as cameras and video decoders give them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Optional, Union, cast

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

#: The formats, by GStreamer's names, with the channels of an array that has one.
FORMATS = {
    "RGB": 3, "BGR": 3, "RGBA": 4, "BGRA": 4, "ARGB": 4, "RGBx": 4, "BGRx": 4, "GRAY8": 1, "NV12": None, "I420": None,
}


@dataclasses.dataclass(frozen=True)
class Frame:
    """A raw frame, which is sent as it is; wherever a picture is expected.

    Args:
        data: the pixels, row by row: bytes, or another object with a buffer. It is not copied.
        format: ``RGB``, ``BGR`` (OpenCV's order), ``RGBA``, ``BGRA``, ``ARGB``, ``RGBx``, ``BGRx``, ``GRAY8``, ``NV12`` or ``I420``.
        width, height: in pixels.
        stride: bytes from one row to the next; without, rows are tight.
        colorimetry: ``bt601`` (the server's default) or ``bt709``, for NV12 and I420.

    >>> Frame(bytes(12), "RGB", 2, 2).type
    'video/x-raw;format=RGB;width=2;height=2'
    """

    data: Union[bytes, bytearray, memoryview]
    format: str
    width: int
    height: int
    stride: Optional[int] = None
    colorimetry: Optional[str] = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"format: expected one of {', '.join(FORMATS)}, found {self.format!r}")

    @classmethod
    def from_array(cls, array: NDArray[numpy.uint8], format: str) -> Frame:
        """An array of pixels, height by width by channels, of unsigned bytes: `cv2.VideoCapture.read` gives ``BGR``.

        >>> import numpy
        >>> Frame.from_array(numpy.zeros((2, 5, 3), numpy.uint8), "BGR").width
        5
        """
        import numpy

        channels = FORMATS.get(format)
        if channels is None:
            raise ValueError(f"format: expected one that an array of pixels can have, found {format!r}")
        shape = array.shape if array.ndim == 3 else (*array.shape, 1)
        if array.dtype != numpy.uint8 or len(shape) != 3 or shape[2] != channels or 0 in shape:
            raise ValueError(
                f"expected an array of uint8, height by width by {channels}, found {array.dtype} of shape {array.shape}")
        flat = numpy.ascontiguousarray(array)
        return cls(memoryview(cast("bytes", flat)).cast("B"), format, shape[1], shape[0])

    @property
    def type(self) -> str:
        """The media type that says all this."""
        text = f"video/x-raw;format={self.format};width={self.width};height={self.height}"
        if self.stride is not None:
            text += f";stride={self.stride}"
        return text if self.colorimetry is None else f"{text};colorimetry={self.colorimetry}"

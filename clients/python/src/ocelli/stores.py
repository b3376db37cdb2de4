"""Pictures in object stores and other file systems, by fsspec: ``pip install ocelli[stores]`` and the store's package (s3fs, gcsfs, adlfs).

The daemon fetches nothing: pictures are read here and sent to it. Options are fsspec's, such as ``endpoint_url`` for S3.
"""

from __future__ import annotations

from typing import Any, Sequence

#: The names of pictures end so.
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".heic", ".heif", ".avif", ".tif", ".tiff", ".gif", ".bmp", ".jxl", ".pbm", ".pgm", ".ppm", ".pnm", ".pam")


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise ImportError("pictures by URL need fsspec: pip install fsspec (and s3fs, gcsfs or adlfs for the store)") from None
    return fsspec


def read(url: str, **options: Any) -> bytes:
    """A file's bytes. Raises `OSError` where it cannot be read.

    >>> import pathlib
    >>> read(pathlib.Path("examples/seven.png").resolve().as_uri())[:4]
    b'\\x89PNG'
    """
    try:
        with _fsspec().open(url, "rb", **options) as file:
            data: bytes = file.read()
            return data
    except (OSError, ImportError, ValueError):
        raise
    except Exception as error:  # each store has errors of its own
        raise OSError(f"{url}: {error}") from error


def listing(url: str, *, endings: Sequence[str] = ENDINGS, **options: Any) -> list[str]:
    """The URLs of the pictures in a folder or bucket and its folders, sorted.

    >>> import pathlib
    >>> [name.rsplit("/", 1)[1] for name in listing(pathlib.Path("examples").resolve().as_uri(), endings=("photo.jpg",))]
    ['nine-photo.jpg']
    """
    system, path = _fsspec().core.url_to_fs(url, **options)
    return [system.unstrip_protocol(name) for name in sorted(system.find(path)) if name.lower().endswith(tuple(endings))]

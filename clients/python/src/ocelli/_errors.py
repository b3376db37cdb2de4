"""Errors as exceptions."""

from __future__ import annotations

from typing import Any, Mapping

# The statuses of the codes that a single picture of several may have: the server answers 200 for all of them together.
_STATUS = {
    "bad_request": 400, "invalid_image": 400, "invalid_input": 400, "not_found": 404, "body_too_large": 413,
    "image_too_large": 413, "unsupported_media_type": 415, "too_many_requests": 429, "internal": 500,
    "engine_output_invalid": 500, "overloaded": 503, "model_not_ready": 503, "shutting_down": 503,
    "deadline_exceeded": 504, "storage_full": 507,
}


class OcelliError(Exception):
    """A request, or one picture of several, that the server answered with an error.

    It can be pickled, so it crosses processes (Ray, Spark, Dask, multiprocessing).

    >>> error = OcelliError("the picture is damaged", status=400, code="invalid_image", request_id="n1")
    >>> print(error)
    the picture is damaged (invalid_image, status 400, request n1)
    >>> error.code, error.retry_after
    ('invalid_image', None)
    """

    #: A sentence that says what is wrong.
    message: str
    #: The HTTP status; 0 where there was no answer (a file of a list that cannot be read).
    status: int
    #: The kind of error, such as ``invalid_image``, ``model_not_found`` or ``overloaded``: compare this.
    code: str
    #: The number of the request in the server's log.
    request_id: str
    #: Seconds after which to try again, where the server said so.
    retry_after: float | None

    def __init__(
        self, message: str, *, status: int = 0, code: str = "", request_id: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        facts = [self.code] if self.code else []
        if self.status:
            facts.append(f"status {self.status}")
        if self.request_id:
            facts.append(f"request {self.request_id}")
        return f"{self.message} ({', '.join(facts)})" if facts else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.message, self.status, self.code, self.request_id, self.retry_after)


OcelliError.__module__ = "ocelli"


def _restored(message: str, status: int, code: str, request_id: str, retry_after: float | None) -> OcelliError:
    return OcelliError(message, status=status, code=code, request_id=request_id, retry_after=retry_after)


def of_picture(answer: Mapping[str, Any], request_id: str) -> OcelliError:
    """The error of one picture of several: it stands in the picture's place, so its part's number is left out."""
    message = str(answer.get("error", ""))
    part = answer.get("part")
    if part is not None:
        message = message.removeprefix(f"part {part}: ")
    code = str(answer.get("code", ""))
    return OcelliError(message, status=_STATUS.get(code, 500), code=code, request_id=request_id)

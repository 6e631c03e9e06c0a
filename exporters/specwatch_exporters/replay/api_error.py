"""Errors in OpenAI's shape, with the types and codes that vLLM 0.32 gives."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """A request that is answered with an error.

    Attributes:
        status: HTTP status, which is also `error.code` in the body.
        kind: `error.type`; vLLM says `Bad Request` for what it cannot parse and `BadRequestError` for what it
            parsed and refused.
        param: the field at fault, or None.
    """

    def __init__(
        self, message: str, *, status: int = 400, kind: str = "BadRequestError", param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param

    def body(self) -> dict[str, Any]:
        """The JSON body."""
        return {"error": {"message": str(self), "type": self.kind, "param": self.param, "code": self.status}}


def unparsable(message: str, param: str | None = None) -> ApiError:
    """An error for a body that could not be read as a request."""
    return ApiError(message, kind="Bad Request", param=param)

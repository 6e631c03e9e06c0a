"""Queries over the HTTP API of Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from specwatch_dashboards.preview.series import Series
from specwatch_dashboards.preview.time_span import Span
from specwatch_exporters.json_text import decode
from specwatch_exporters.sidecar.endpoint import Endpoint

TIMEOUT_S: Final = 30.0
_MOST_BYTES: Final = 64 * 1024 * 1024
_SHOWN: Final = 300
_ODD: Final = "the answer is not that of a Prometheus API"


class QueryError(ValueError):
    """No answer that can be used; one line."""


class PrometheusApi:
    """Asks one server.

    Args:
        url: without `/api/v1`; may carry `user:password@`.
        timeout_s: for each query.

    Raises:
        ValueError: it is no URL; one clause that does not repeat credentials.
    """

    def __init__(self, url: str, timeout_s: float = TIMEOUT_S) -> None:
        self._endpoint = Endpoint.parse(url)
        self._timeout_s = timeout_s

    @property
    def display(self) -> str:
        """The server's address for people, without credentials."""
        return self._endpoint.display

    def check(self) -> None:
        """Ask whether it is there and answers.

        Raises:
            QueryError: it is not, or does not.
        """
        self._ask("query", {"query": "1"})

    def over(self, query: str, span: Span, step_s: float) -> list[Series]:
        """The answer over a time, with a point per step.

        Raises:
            QueryError: the server cannot be reached, refuses, or says something else.
        """
        asked = {"query": query, "start": f"{span.start:.3f}", "end": f"{span.end:.3f}", "step": f"{step_s:g}"}
        return _read(self._ask("query_range", asked), "values")

    def at(self, query: str, when: float) -> list[Series]:
        """The answer at one time.

        Raises:
            QueryError: likewise.
        """
        return _read(self._ask("query", {"query": query, "time": f"{when:.3f}"}), "value")

    def label_values(self, selector: str, label: str, span: Span) -> list[str]:
        """Values that a label had within a time, sorted.

        Raises:
            QueryError: likewise.
        """
        asked = {"match[]": selector, "start": f"{span.start:.3f}", "end": f"{span.end:.3f}"}
        found = self._ask(f"label/{label}/values?{urlencode(asked)}", None)
        if not isinstance(found, list) or not all(isinstance(value, str) for value in found):
            raise QueryError(_ODD)
        return sorted(found)

    def _ask(self, path: str, form: Mapping[str, str] | None) -> Any:
        base = f"{self._endpoint.scheme}://{self._endpoint.authority}{self._endpoint.path.rstrip('/')}"
        headers = {} if self._endpoint.authorization is None else {"Authorization": self._endpoint.authorization}
        body = None if form is None else urlencode(form).encode()
        request = Request(f"{base}/api/v1/{path}", body, headers)  # noqa: S310 - Endpoint takes http(s) only
        try:
            with urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310 - likewise
                text = answer.read(_MOST_BYTES)
        except HTTPError as error:
            with error:
                text = error.read(_MOST_BYTES)
            raise QueryError(_refusal(decode(text), error.code)) from None
        except (OSError, HTTPException) as error:
            raise QueryError(f"{self.display} cannot be reached: {_reason(error)}") from None
        found = decode(text)
        if not isinstance(found, Mapping) or found.get("status") != "success" or "data" not in found:
            raise QueryError(_ODD)
        return found["data"]


def _read(data: Any, key: str) -> list[Series]:
    try:
        return [
            Series(
                dict(row["metric"]),
                tuple((float(at), float(value)) for at, value in (row[key] if key == "values" else [row[key]])),
            )
            for row in data["result"]
        ]
    except (KeyError, TypeError, ValueError):
        raise QueryError(_ODD) from None


def _refusal(body: Any, status: int) -> str:
    said = body.get("error") if isinstance(body, Mapping) else None
    return " ".join(str(said).split())[:_SHOWN] if said else f"Prometheus answers {status}"


def _reason(error: Exception) -> str:
    return " ".join(str(getattr(error, "reason", error)).split())[:_SHOWN] or type(error).__name__

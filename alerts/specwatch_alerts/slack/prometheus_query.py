"""Queries of the HTTP API of Prometheus, with a deadline for all of them together."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from specwatch_alerts.slack.secret_file import SecretError, SecretFile
from specwatch_exporters.sidecar.endpoint import Endpoint

_MOST_BYTES: Final = 4 * 1024 * 1024
_LEAST_S: Final = 0.1
_ODD: Final = "the answer is not that of a Prometheus API"

Sample = tuple[Mapping[str, str], float]
"""Labels and value of a series at one time."""
Points = tuple[Mapping[str, str], list[tuple[float, float]]]
"""Labels of a series, its times and values."""


class QueryError(ValueError):
    """No answer that can be used; one line."""


class PrometheusQuery:
    """Asks one API, until a deadline.

    Args:
        url: without `/api/v1`.
        token: bearer token, or None.
        clock: seconds that only grow.
        within_s: seconds for all queries together.
    """

    def __init__(self, url: str, token: SecretFile | None, clock: Callable[[], float], within_s: float) -> None:
        self._endpoint = Endpoint.parse(url)
        self._token = token
        self._clock = clock
        self._deadline = clock() + within_s

    def instant(self, query: str, at: float) -> list[Sample]:
        """Value of each series at a time; NaN and infinity are left out: they are unknown.

        Raises:
            QueryError: the API cannot be reached in time, refuses, or gives something else.
        """
        found = self._ask("query", {"query": query, "time": f"{at:.3f}"})
        try:
            samples = [(dict(series["metric"]), float(series["value"][1])) for series in found]
        except (KeyError, IndexError, TypeError, ValueError):
            raise QueryError(_ODD) from None
        return [(labels, value) for labels, value in samples if math.isfinite(value)]

    def range(self, query: str, start: float, end: float, step: float) -> list[tuple[float, float]]:
        """Times and values of the first series.

        Raises:
            QueryError: likewise.
        """
        found = self.ranges(query, start, end, step)
        return found[0][1] if found else []

    def ranges(self, query: str, start: float, end: float, step: float) -> list[Points]:
        """Labels, times and values of every series; NaN and infinity are left out.

        Raises:
            QueryError: likewise.
        """
        asked = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.0f}"}
        try:
            return [
                (
                    dict(series["metric"]),
                    [(float(at), float(v)) for at, v in series["values"] if math.isfinite(float(v))],
                )
                for series in self._ask("query_range", asked)
            ]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, QueryError):
                raise
            raise QueryError(_ODD) from None

    def _ask(self, path: str, asked: Mapping[str, str]) -> list[Any]:
        left = self._deadline - self._clock()
        if left < _LEAST_S:
            raise QueryError("Prometheus took too long")
        base = f"{self._endpoint.scheme}://{self._endpoint.authority}{self._endpoint.path.rstrip('/')}"
        request = Request(f"{base}/api/v1/{path}", urlencode(asked).encode(), self._headers())  # noqa: S310 - http(s)
        try:
            with urlopen(request, timeout=left) as answer:  # noqa: S310 - likewise
                body = json.loads(answer.read(_MOST_BYTES))
            if body["status"] != "success":
                raise QueryError(f"Prometheus refuses: {str(body.get('error', ''))[:120]}")
            return list(body["data"]["result"])
        except HTTPError as error:
            error.close()
            raise QueryError(f"Prometheus answers {error.code}") from None
        except (OSError, HTTPException) as error:
            raise QueryError(f"Prometheus cannot be reached: {_reason(error)}") from None
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, QueryError):
                raise
            raise QueryError(_ODD) from None

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self._endpoint.authorization is not None:
            headers["Authorization"] = self._endpoint.authorization
        if self._token is not None:
            try:
                headers["Authorization"] = f"Bearer {self._token.read()}"
            except SecretError as error:
                raise QueryError(str(error)) from None
        return headers


def _reason(error: Exception) -> str:
    return " ".join(str(getattr(error, "reason", error)).split())[:120] or type(error).__name__

"""Raw samples from any API that speaks Prometheus: Prometheus, Thanos, Mimir, VictoriaMetrics.

An instant query of a range selector, such as `specwatch_drafts_total[10s]`, gives the samples as they were stored,
each with its own time. `increase()` would not do: it extrapolates to the edges of its range.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from requests import RequestException, Session
from urllib3.util.retry import Retry

from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_detectors.watch.source import RawSeries, SourceError

# Thanos and VictoriaMetrics (cluster) leave out what they cannot reach, unless told that half an answer is none.
_WHOLE: Final = {"partial_response": "false", "deny_partial_response": "1"}
_TOLD: Final = re.compile(r'"error"\s*:\s*"((?:[^"\\]|\\.)*)"')
_STATUS: Final = re.compile(r"^HTTP Status Code ")
_OBJECT: Final = re.compile(r"^\w+\([^)]*\): ")
_LONGEST: Final = 200


class PrometheusSource:
    """Asks the API.

    Args:
        address: how to reach it.
    """

    def __init__(self, address: PrometheusAddress) -> None:
        session = Session()
        session.verify = not address.insecure if address.ca_file is None else str(address.ca_file)
        self._address = address
        self._client = PrometheusConnect(
            url=address.url.rstrip("/"),
            session=session,
            retry=Retry(total=0),  # the next round asks again, for all that was missed
            timeout=address.timeout_s,
        )

    def fetch(self, metric: str, start: float, end: float) -> Sequence[RawSeries]:
        """All samples of a metric with start < time <= end.

        Raises:
            SourceError: the API cannot be reached, refuses, or gives something else.
        """
        self._client.headers = self._headers()
        query = f"{metric}{{{self._address.matchers}}}[{round(end - start)}s]"
        try:
            found = self._client.custom_query(query, params={"time": f"{end:.3f}", **_WHOLE})
        except (PrometheusApiClientException, RequestException, KeyError, TypeError, ValueError) as error:
            raise SourceError(_reason(error)) from error
        return _matrix(found)

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _headers(self) -> dict[str, str]:
        headers = dict(self._address.headers)
        if self._address.token_file is not None:
            try:
                token = self._address.token_file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise SourceError(f"the token file cannot be read: {error}") from error
            headers["Authorization"] = f"Bearer {token}"
        return headers


def _matrix(found: Any) -> Sequence[RawSeries]:
    if not isinstance(found, list) or any("values" not in series for series in found[:1]):
        raise SourceError("the answer is no matrix of samples: is this the address of a Prometheus API?")
    return found


def _reason(error: Exception) -> str:
    """What the API said, or what went wrong on the way to it, in one line."""
    text = str(error)
    if isinstance(error, PrometheusApiClientException):
        told = _TOLD.search(text)
        words = text if told is None else f"{_STATUS.sub('', text).partition(' ')[0]}: {told.group(1)}"
    elif isinstance(error, RequestException) and not isinstance(error, ValueError):
        inner = error.args[0] if error.args else error
        words = _OBJECT.sub("", str(getattr(inner, "reason", inner)))
    else:
        words = "the answer is no JSON of a Prometheus API: check the address"
    return " ".join(words.split())[:_LONGEST]

"""Raw samples from any API that speaks Prometheus: Prometheus, Thanos, Mimir, VictoriaMetrics.

An instant query of a range selector, such as `specwatch_drafts_total[10s]`, gives the samples as they were stored,
each with its own time. `increase()` would not do: it extrapolates to the edges of its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from prometheus_api_client import PrometheusConnect
from requests import Session
from urllib3.util.retry import Retry

from specwatch_detectors.prometheus_trouble import NO_ANSWER, trouble
from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_detectors.watch.source import RawSeries, SourceError

# Thanos and VictoriaMetrics (cluster) leave out what they cannot reach, unless told that half an answer is none.
_WHOLE: Final = {"partial_response": "false", "deny_partial_response": "1"}


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
        except NO_ANSWER as error:
            raise SourceError(trouble(error)) from error
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

"""History asked of a running Prometheus (or Thanos, Mimir, VictoriaMetrics) through prometheus-api-client.

Asked in chunks: Prometheus answers at most 11,000 points per series and 50 million samples per query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from specwatch_detectors.history import History, HistoryError, clock
from specwatch_detectors.history_prometheus import NAMES, PrometheusHistory
from specwatch_exporters.engines import vllm_v1

CHUNK_POINTS: Final = 2_000
TIMEOUT_S: Final = 60
_VLLM: Final = "vllm:spec_decode_num_(drafts|draft_tokens|accepted_tokens|accepted_tokens_per_pos)_total"


class Client(Protocol):
    """The part of prometheus-api-client's `PrometheusConnect` that is used."""

    def custom_query_range(self, query: str, start_time: datetime, end_time: datetime, step: str) -> Any:
        """The matrix of a query."""


def connect(url: str, headers: Mapping[str, str] | None = None) -> Client:
    """A client.

    Args:
        url: of the API, without `/api/v1`.
        headers: such as an Authorization.

    Raises:
        ModuleNotFoundError: prometheus-api-client is not installed.
    """
    from prometheus_api_client import PrometheusConnect  # noqa: PLC0415 - an extra, for this function only

    client: Client = PrometheusConnect(url=url.rstrip("/"), headers=dict(headers or {}), timeout=TIMEOUT_S)
    return client


def expression(matchers: str = "", *, engine: bool = False) -> str:
    """The selector of all counters and facts.

    Args:
        matchers: further label matchers, such as `namespace="llm"`.
        engine: vLLM's own names instead of specwatch's.
    """
    names = _VLLM if engine else "|".join(NAMES)
    own = f'__name__=~"{names}"'
    return f"{{{own},{matchers}}}" if matchers else f"{{{own}}}"


def fetch_history(
    client: Client,
    *,
    start: float,
    end: float,
    interval_s: float,
    source: str,
    matchers: str = "",
    progress: Callable[[str], None] = lambda _words: None,
) -> History:
    """Ask for a history, chunk by chunk.

    Args:
        client: as `connect` makes it.
        start: epoch seconds.
        end: epoch seconds.
        interval_s: whole seconds of an interval: the scrape interval of the series.
        source: what to call it.
        matchers: further label matchers.
        progress: told about each chunk.

    Raises:
        HistoryError: Prometheus cannot be reached, refuses, or has no such series.
    """
    if interval_s < 1.0 or interval_s != int(interval_s):
        raise HistoryError(f"the interval must be whole seconds for Prometheus, got {interval_s:g} s")
    history = PrometheusHistory(interval_s)
    engine, found = False, 0
    begin = math.ceil(start / interval_s) * interval_s
    while begin <= end:
        until = min(end, begin + (CHUNK_POINTS - 1) * interval_s)
        progress(f"{clock(begin)} to {clock(until)}")
        series = _ask(client, expression(matchers, engine=engine), begin, until, interval_s)
        if not series and not found and not engine:
            series = _ask(client, expression(matchers, engine=True), begin, until, interval_s)
            engine = bool(series)
        found += len(series)
        history.take(series)
        begin = until + interval_s - (until - begin) % interval_s
    if not found:
        prefix = vllm_v1.PREFIXES[0]
        raise HistoryError(f"{source} has neither specwatch's nor {prefix} series of drafts in that time")
    return history.build(source)


def _ask(client: Client, query: str, start: float, end: float, step: float) -> Sequence[Mapping[str, Any]]:
    from specwatch_detectors.prometheus_trouble import NO_ANSWER, trouble  # noqa: PLC0415 - of an extra

    first, last = datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)
    try:
        answer: list[Mapping[str, Any]] = client.custom_query_range(query, first, last, f"{step:g}")
    except NO_ANSWER as error:
        raise HistoryError(f"Prometheus gave no answer: {trouble(error)}") from error
    return answer

"""Range queries of any length: in chunks, smaller ones where Prometheus says that a chunk is too much.

Prometheus gives 11,000 points per series at most, and loads 50 million samples per query (`--query.max-samples`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from json import JSONDecodeError
from typing import Any, Final

from specwatch_alerts.backtest_rules import BacktestError
from specwatch_detectors.history_live import CHUNK_POINTS, Client

LEAST_POINTS: Final = 60
_TOO_MUCH: Final = re.compile(r"too many samples|exceeded maximum|timed? ?out|limit", re.IGNORECASE)
_OBJECT: Final = re.compile(r"^\w+\([^)]*\): ")
_TOLD: Final = re.compile(r'"error"\s*:\s*"((?:[^"\\]|\\.)*)"')

Labels = tuple[tuple[str, str], ...]
"""Label pairs of a series, sorted, without its name."""


class QueryRefusedError(Exception):
    """Prometheus refuses this query; another one may work. The message is its reason, in one line."""


def labels_of(metric: Mapping[str, str]) -> Labels:
    """The labels as something that can be compared."""
    return tuple(sorted((name, value) for name, value in metric.items() if name != "__name__"))


class RangeSource:
    """Asks for the times at which an expression has a value.

    Args:
        client: as `history_live.connect` makes it.
        chunk_points: evaluations in a query.
    """

    def __init__(self, client: Client, chunk_points: int = CHUNK_POINTS) -> None:
        self._client = client
        self._points = chunk_points

    def times(self, expression: str, start: int, end: int, step: int) -> dict[Labels, list[float]]:
        """Times by label set, ascending.

        Args:
            expression: PromQL.
            start: epoch seconds of the first evaluation.
            end: no evaluation is later.
            step: seconds between evaluations.

        Raises:
            QueryRefusedError: Prometheus does not take the expression, however short the chunk.
            BacktestError: it does not answer.
        """
        found: dict[Labels, list[float]] = {}
        for series in self._chunks(expression, start, end, step):
            times = found.setdefault(labels_of(series["metric"]), [])
            times.extend(float(at) for at, _ in series["values"])
        return found

    def names(self, pattern: str, start: int, end: int, step: int) -> dict[str, list[float]]:
        """Times at which there was a sample in the last `step` seconds, by metric.

        Args:
            pattern: regular expression on the name.
            start: epoch seconds of the first look.
            end: no look is later.
            step: seconds between looks.
        """
        query = f'count by (__name__) (last_over_time({{__name__=~"{pattern}"}}[{step}s]))'
        found: dict[str, list[float]] = {}
        for series in self._chunks(query, start, end, step):
            found.setdefault(series["metric"]["__name__"], []).extend(float(at) for at, _ in series["values"])
        return found

    def _chunks(self, expression: str, start: int, end: int, step: int) -> Iterator[Mapping[str, Any]]:
        points, at = self._points, start
        while at <= end:
            until = min(end, at + (points - 1) * step)
            try:
                yield from self._ask(expression, at, until, step)
            except QueryRefusedError as error:
                if points <= LEAST_POINTS or _TOO_MUCH.search(str(error)) is None:
                    raise
                points = max(LEAST_POINTS, points // 4)
                continue
            at = until + step - (until - at) % step

    def _ask(self, expression: str, start: int, end: int, step: int) -> Sequence[Mapping[str, Any]]:
        from prometheus_api_client.exceptions import PrometheusApiClientException  # noqa: PLC0415 - an extra
        from requests import RequestException, Timeout  # noqa: PLC0415 - comes with it

        first, last = datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)
        try:
            answer: Sequence[Mapping[str, Any]] = self._client.custom_query_range(
                expression, first, last, f"{step}"
            )
        except PrometheusApiClientException as error:
            raise QueryRefusedError(_reason(str(error))) from error
        except Timeout as error:
            raise QueryRefusedError("the query timed out") from error
        except (RequestException, KeyError, ValueError) as error:
            raise BacktestError(f"Prometheus gave no answer: {_cause(error)}") from error
        return answer


def _cause(error: Exception) -> str:
    """What went wrong on the way, without the address of the request."""
    if isinstance(error, KeyError | JSONDecodeError):
        return "what came is no JSON of a Prometheus API; check the address"
    inner = error.args[0] if error.args else error
    return _reason(_OBJECT.sub("", str(getattr(inner, "reason", inner))))


def _reason(text: str) -> str:
    told = _TOLD.search(text)
    return " ".join((text.partition(" (b")[0] if told is None else told.group(1)).split())[:160]

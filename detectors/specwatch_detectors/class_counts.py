"""What each traffic class drafted and accepted since the last look, from the per-request counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from prometheus_client.metrics_core import Metric

from specwatch_detectors.window import Window, window
from specwatch_exporters import request_catalog
from specwatch_exporters.method_name import spelling
from specwatch_exporters.request_labels import UNKNOWN

Families = Callable[[], Iterable[Metric]]
"""Gives the per-request families of the moment; raises OSError or ValueError if it cannot."""

_NAMES: Final = {
    metric.name: metric
    for metric in (
        request_catalog.DRAFTS,
        request_catalog.DRAFT_TOKENS,
        request_catalog.ACCEPTED_TOKENS,
        request_catalog.ACCEPTED_PER_POSITION,
        request_catalog.DRAFTED_PER_POSITION,
    )
}

_NO_CLASS: Final = frozenset({"", UNKNOWN})
"""Traffic class of what nobody told the class of."""


class _Series(NamedTuple):
    """One counter; `position` is -1 where it has none."""

    metric: str
    model: str
    traffic_class: str
    speculation: str
    position: int


class ClassCounts:
    """Reads totals and subtracts, reset-aware, series by series.

    Args:
        families: where the totals come from.
        method: count only requests of this method of speculation, and those of an unknown one: behind one request
            sidecar there may be pools with others. None counts all.
    """

    def __init__(self, families: Families, method: str | None = None) -> None:
        self._families = families
        self._methods = None if method is None else {spelling(method), UNKNOWN}
        self._last: dict[_Series, float] | None = None

    def take(self) -> dict[str, dict[str, Window]]:
        """Windows by model and class since the last look; empty at the first, whose totals are a whole life.

        A total that fell means that the process started anew: all its totals are then increases.

        Raises:
            OSError: the source cannot be reached.
            ValueError: what it gave cannot be read.
        """
        totals = self._totals()
        last, self._last = self._last, totals
        if last is None:
            return {}
        if any(value < last.get(series, 0.0) for series, value in totals.items()):
            last = {}
        grown = {series: value - last.get(series, 0.0) for series, value in totals.items()}
        return _windows(grown)

    def _totals(self) -> dict[_Series, float]:
        found: dict[_Series, float] = {}
        for family in self._families():
            for sample in family.samples:
                if sample.name in _NAMES and self._counts(sample.labels):
                    series = _series(sample.name, sample.labels)
                    found[series] = found.get(series, 0.0) + sample.value
        return found

    def _counts(self, labels: Mapping[str, str]) -> bool:
        return self._methods is None or spelling(labels.get("speculation", UNKNOWN)) in self._methods


def _series(name: str, labels: Mapping[str, str]) -> _Series:
    position = labels.get("position", "-1")
    if not position.removeprefix("-").isdecimal():
        raise ValueError(f"position {position!r} is no number")
    return _Series(
        name, labels.get("model", ""), labels.get("traffic_class", ""), labels.get("speculation", ""), int(position)
    )


def _windows(grown: Mapping[_Series, float]) -> dict[str, dict[str, Window]]:
    groups: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
    for series, value in grown.items():
        own = groups.setdefault((series.model, series.traffic_class), {})
        key = (series.metric, series.position)
        own[key] = own.get(key, 0.0) + value
    found: dict[str, dict[str, Window]] = {}
    for (model, name), own in groups.items():
        if name in _NO_CLASS:
            continue
        drafts = own.get((request_catalog.DRAFTS.name, -1), 0.0)
        if drafts > 0.0:
            found.setdefault(model, {})[name] = _window(own, drafts)
    return found


def _window(own: Mapping[tuple[str, int], float], drafts: float) -> Window:
    accepted = _positions(own, request_catalog.ACCEPTED_PER_POSITION.name)
    drafted = _positions(own, request_catalog.DRAFTED_PER_POSITION.name)
    return window(
        drafts,
        accepted,
        accepted_tokens=own.get((request_catalog.ACCEPTED_TOKENS.name, -1)),
        draft_tokens=own.get((request_catalog.DRAFT_TOKENS.name, -1)),
        drafted=drafted,
    )


def _positions(own: Mapping[tuple[str, int], float], metric: str) -> tuple[float, ...]:
    found: list[float] = []
    while (metric, len(found)) in own:
        found.append(own[(metric, len(found))])
    return tuple(found)

"""Increases per raw series, then sums: the only way that counters of several processes add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specwatch_exporters.page import Key, Page, SeriesId

# A process's start may wobble by clock adjustments; a restart moves it by more.
_SAME_START_S = 1.0


@dataclass(frozen=True, slots=True)
class Increase:
    """What one page added.

    Attributes:
        by_key: increases per canonical series, each >= 0 (except sums of negative observations, held at 0).
        restarted: (model, engine) pairs whose counters started again.
        held: histogram sums that went down without a restart.
    """

    by_key: dict[Key, float]
    restarted: frozenset[tuple[str, str]] = frozenset()
    held: tuple[SeriesId, ...] = ()

    @property
    def restarts(self) -> int:
        """Ranks and models of one page share a process; instances named by a label do not."""
        return len({engine.rpartition("/")[0] for _, engine in self.restarted})


@dataclass(slots=True)
class Ledger:
    """Turns successive pages of one engine into increases and running totals.

    A series that was not on the page before counts from zero: the first page contributes the engine's lifetime,
    and a position, outcome or rank that appears later contributes all that it has. A decrease, or a later process
    start, restarts every series of that engine, because they live in one process: totals carry on, each restart is
    reported, no increase is negative.

    Attributes:
        max_series: series remembered; beyond it those that left the page are forgotten.
        totals: increases summed since the ledger was made.
        restarts: engine restarts seen.
    """

    max_series: int = 50_000
    totals: dict[Key, float] = field(default_factory=dict)
    restarts: int = 0
    _last: dict[SeriesId, float] = field(default_factory=dict)
    _start: float | None = None

    def update(self, page: Page) -> Increase:
        """Take one page in; returns what it added. State is complete before and after, never in between."""
        increase = self._drained(page) if page.drained else self._increase(page)
        if page.derive is not None:
            increase.by_key.update(page.derive(increase.by_key))
        for key, value in increase.by_key.items():
            self.totals[key] = self.totals.get(key, 0.0) + value
        self.restarts += increase.restarts
        self._bound(page, increase)
        return increase

    def _drained(self, page: Page) -> Increase:
        increase = Increase({})
        for series, value in page.counters.items():
            key = _key(series)
            increase.by_key[key] = increase.by_key.get(key, 0.0) + value
        return increase

    def _increase(self, page: Page) -> Increase:
        restarted = self._restarted(page)
        if restarted:
            self._last = {s: v for s, v in self._last.items() if (s.model, s.engine) not in restarted}
        held: list[SeriesId] = []
        by_key: dict[Key, float] = {}
        for series, value in page.counters.items():
            last = self._last.get(series, 0.0)
            added = value - last
            if added < 0.0 and last:
                held.append(series)
                added = 0.0
            key = _key(series)
            by_key[key] = by_key.get(key, 0.0) + added
            self._last[series] = value
        return Increase(by_key, frozenset(restarted), tuple(held))

    def _restarted(self, page: Page) -> set[tuple[str, str]]:
        """Engines whose counters started again; a sum that falls is no evidence (queue times can be negative)."""
        later_start = (
            page.start_marker is not None
            and self._start is not None
            and page.start_marker > self._start + _SAME_START_S
        )
        if page.start_marker is not None:
            self._start = page.start_marker
        if later_start:
            return {(series.model, series.engine) for series in self._last}
        return {
            (series.model, series.engine)
            for series, value in page.counters.items()
            if value < self._last.get(series, 0.0) and not series.metric.endswith("_sum")
        }

    def _bound(self, page: Page, increase: Increase) -> None:
        if len(self._last) > self.max_series:
            self._last = {s: v for s, v in self._last.items() if s in page.counters}
        if len(self.totals) > self.max_series:
            self.totals = {k: v for k, v in self.totals.items() if k in increase.by_key}


def _key(series: SeriesId) -> Key:
    return Key(series.metric, series.model, series.engine, series.extra)


def lifetime(page: Page) -> Mapping[Key, float]:
    """All that the engine has counted so far."""
    return Ledger().update(page).by_key

"""Increases per raw series, then sums: the only way that counters of several processes add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from specwatch_exporters.page import Key, Page, SeriesId, instance_of

# A process's start may wobble by clock adjustments; a restart moves it by more.
_SAME_START_S = 1.0


@dataclass(frozen=True, slots=True)
class Increase:
    """What one page added.

    Attributes:
        by_key: increases per canonical series, each >= 0; what cannot be known has no key.
        restarted: engines whose counters started again.
        held: histogram sums that went down without a restart, and are unknown from then on.
    """

    by_key: dict[Key, float]
    restarted: frozenset[str] = frozenset()
    held: tuple[SeriesId, ...] = ()

    @property
    def restarts(self) -> int:
        """Processes that restarted: the ranks of one instance count once."""
        return len({instance_of(engine) for engine in self.restarted})


@dataclass(slots=True)
class Ledger:
    """Turns successive pages of one engine into increases and running totals.

    A series that was not on the page before counts from zero: the first page contributes the engine's lifetime,
    and a position, outcome or rank that appears later contributes all that it has. A later process start restarts
    every series of that instance; a decrease restarts the series of that engine (rank), because a rank's counters
    can be made anew while its process lives. Totals carry on, each restart is reported, no increase is negative.
    Totals of series that left the page are kept, in case they come back, but are not among `current`.

    Attributes:
        max_series: series remembered; beyond it those that left the page are forgotten.
        totals: increases summed since the ledger was made.
        current: the totals of the series on the last page.
        restarts: engine restarts seen.
        pages: pages taken in.
    """

    max_series: int = 10_000
    totals: dict[Key, float] = field(default_factory=dict)
    current: dict[Key, float] = field(default_factory=dict)
    restarts: int = 0
    pages: int = 0
    _last: dict[SeriesId, float] = field(default_factory=dict)
    _starts: dict[str, float] = field(default_factory=dict)
    _depths: dict[str, int] | None = None
    _doubtful: set[Key] = field(default_factory=set)

    def update(self, page: Page) -> Increase:
        """Take one page in; returns what it added. State is complete before and after, never in between."""
        increase = self._drained(page) if page.drained else self._increase(page)
        if page.derive is not None:
            increase.by_key.update(page.derive(increase.by_key, self._depths))
        self._depths = dict(page.speculative_tokens)
        for key, value in increase.by_key.items():
            self.totals[key] = self.totals.get(key, 0.0) + value
        self.current = {key: self.totals[key] for key in increase.by_key}
        self.restarts += increase.restarts
        self.pages += 1
        self._bound(page)
        return increase

    def _drained(self, page: Page) -> Increase:
        """Increments as they come; a batch without any of a series leaves its total as it is."""
        increase = Increase(dict.fromkeys(self.current, 0.0))
        for series, value in page.counters.items():
            key = _key(series)
            increase.by_key[key] = increase.by_key.get(key, 0.0) + value
        return increase

    def _increase(self, page: Page) -> Increase:
        restarted = self._restarted(page)
        if restarted:
            self._forget_edges(page, restarted)
            self._last = {s: v for s, v in self._last.items() if s.engine not in restarted}
            self._doubtful = {key for key in self._doubtful if key.engine not in restarted}
        held: list[SeriesId] = []
        by_key: dict[Key, float] = {}
        for series, value in page.counters.items():
            added = value - self._last.get(series, 0.0)
            key = _key(series)
            self._last[series] = value
            if added < 0.0:
                held.append(series)
                self._doubtful.add(key)
            by_key[key] = by_key.get(key, 0.0) + added
        for key in self._doubtful:
            by_key.pop(key, None)
        return Increase(by_key, frozenset(restarted), tuple(held))

    def _restarted(self, page: Page) -> set[str]:
        """Engines whose counters started again; a sum that falls is no evidence (queue times can be negative)."""
        later = {
            instance
            for instance, start in page.starts.items()
            if start > self._starts.get(instance, start) + _SAME_START_S
        }
        self._starts.update(page.starts)
        engines = (
            {series.engine for series in self._last if instance_of(series.engine) in later} if later else set()
        )
        return engines | {
            series.engine
            for series, value in page.counters.items()
            if value < self._last.get(series, 0.0) and not series.metric.endswith("_sum")
        }

    def _forget_edges(self, page: Page, restarted: Iterable[str]) -> None:
        """Start a histogram over if its engine came back with other bucket edges: the two do not add up."""
        engines = frozenset(restarted)
        before, now = _edges(self._last, engines), _edges(page.counters, engines)
        for (metric, engine), edges in before.items():
            if now.get((metric, engine), edges) != edges:
                parts = {f"{metric}_bucket", f"{metric}_sum", f"{metric}_count"}
                self.totals = {
                    key: value
                    for key, value in self.totals.items()
                    if not (key.metric in parts and key.engine == engine)
                }

    def _bound(self, page: Page) -> None:
        if len(self._last) > self.max_series:
            self._last = {s: v for s, v in self._last.items() if s in page.counters}
        if len(self.totals) > self.max_series:
            self.totals = dict(self.current)


def _key(series: SeriesId) -> Key:
    return Key(series.metric, series.model, series.engine, series.extra)


def _edges(counters: Iterable[SeriesId], engines: frozenset[str]) -> dict[tuple[str, str], set[str]]:
    """Bucket edges per histogram and engine."""
    found: dict[tuple[str, str], set[str]] = {}
    for series in counters:
        if series.engine in engines and series.metric.endswith("_bucket"):
            metric = series.metric.removesuffix("_bucket")
            found.setdefault((metric, series.engine), set()).add(series.extra)
    return found

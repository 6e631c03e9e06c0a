"""Rounds on a fixed grid: each takes the ticks that are due, however many were missed.

Ticks end at multiples of the interval. A tick is taken once the delay has passed since its end, because a sample
gets its time when its scrape begins and is stored when it has ended, and remote writes come later still. So what a
tick holds does not depend on when it was read, and a watch that was down, or that could not reach Prometheus, comes
to the verdicts that it would have come to.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.watch.counter_book import Span
from specwatch_detectors.watch.fleet import Fleet
from specwatch_detectors.watch.source import Source
from specwatch_detectors.watch.unanswered import unanswered

LOG = logging.getLogger("specwatch.watch")
VERSION: Final = 1
SPAN_S: Final = 300
"""Longest span read at once; bounds memory when much was missed."""
HUNG_S: Final = 60
"""Time without an answer from which readings grow old; before that a round may just be slow."""


@dataclass(frozen=True, slots=True)
class Grid:
    """When ticks end, and how far back they are made up for.

    Attributes:
        interval_s: length of a tick.
        delay_s: age at which a tick's samples are taken to be complete.
        since_s: history that a watch without a state begins with, to learn from.
        catch_up_s: longest time made up for after a gap; older ticks are skipped.
    """

    interval_s: int = 10
    delay_s: float = 10.0
    since_s: int = 3600
    catch_up_s: int = 6 * 3600

    def due(self, now: float) -> int:
        """End of the last tick that is complete at a time."""
        return math.floor((now - self.delay_s) / self.interval_s) * self.interval_s


class Rounds:
    """Keeps a fleet up to date.

    Args:
        fleet: judges; made from the fleet's part of the state if there is one.
        source: where samples come from.
        grid: when.
        at: end of the last tick that the fleet has taken in, or None for none.
    """

    def __init__(self, fleet: Fleet, source: Source, grid: Grid, at: int | None = None) -> None:
        self.fleet = fleet
        self._source = source
        self._grid = grid
        self.at = None if at is None else math.ceil(at / grid.interval_s) * grid.interval_s
        self._answered: float | None = None

    def catch_up(self, now: float) -> None:
        """Take the ticks that are due, up to five minutes of them.

        Raises:
            SourceError: there is no answer; nothing is lost, and the next round takes them.
        """
        due = self._grid.due(now)
        start = self._start(due)
        if start < due:
            ticks = min(due - start, SPAN_S) // self._grid.interval_s or 1
            span = Span(start, ticks, self._grid.interval_s)
            self.fleet.take(self._source, span)
            self.at = span.end
            if self.behind(now):
                LOG.info("reading what was missed: %d s to go, %d series", due - span.end, self.fleet.series)
        self._answered = now

    def behind(self, now: float) -> bool:
        """Whether more ticks are due."""
        return self.at is None or self.at < self._grid.due(now)

    def _start(self, due: int) -> int:
        """Where the next span begins."""
        if self.at is None:
            return self._on_grid(due - self._grid.since_s)
        oldest = self._on_grid(due - self._grid.catch_up_s)
        if self.at < oldest:
            LOG.warning("%d s were missed; the oldest %d s of them are skipped", due - self.at, oldest - self.at)
            self.fleet.forget_series()
            self.at = oldest
        return self.at

    def _on_grid(self, at: float) -> int:
        return math.floor(at / self._grid.interval_s) * self._grid.interval_s

    def readings(self, now: float) -> dict[str, ModelReading]:
        """What is known of each model at a time; while there is no answer it grows old."""
        if self.at is None:
            return self.fleet.readings(self._grid.due(now))
        known, waited = self.fleet.readings(self.at), now - (self.at if self._answered is None else self._answered)
        if waited <= HUNG_S and self._answered is not None:
            return known
        late = self.fleet.readings(max(self._grid.due(now), self.at))
        words = f"no answer from Prometheus for {waited:.0f} s"
        return {name: unanswered(known[name], reading, words) for name, reading in late.items()}

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {"version": VERSION, "at": self.at, "models": self.fleet.state()}


def parts_of(state: Mapping[str, Any]) -> tuple[int | None, Mapping[str, Any]]:
    """The end of the last tick, and the fleet's part of a state.

    Raises:
        ValueError: it is not a state of this version.
    """
    if state.get("version") != VERSION:
        raise ValueError(
            f"the state is of version {state.get('version')!r}, this specwatch reads version {VERSION}"
        )
    at, models = state.get("at"), state.get("models")
    if not (at is None or isinstance(at, int)) or not isinstance(models, Mapping):
        raise ValueError("the state holds no time or no models")
    return at, models

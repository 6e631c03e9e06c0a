"""The past of a model's traffic: one window per interval, and what happened to its engine meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import Final

from specwatch_detectors.reading import Change
from specwatch_detectors.window import NOTHING, Window

DAY_S: Final = 86_400.0
FACTS: Final = {
    "K": Change.DEPTH,
    "draft": Change.DEPLOY,
    "method": Change.METHOD,
    "target": Change.DEPLOY,
    "version": Change.VERSION,
}
"""What a history may say about an engine, beside its counts."""
GAP_S: Final = 300.0
"""Silence after which an increase is left out: nobody knows what was running then."""


class HistoryError(ValueError):
    """The input is no usable history; the message says where and why, in one line."""


@dataclass(frozen=True, slots=True)
class Interval:
    """One interval that was observed; it may have no drafts.

    Attributes:
        at: its end, epoch seconds.
        total: all drafts of the model.
        classes: the part of them that has a traffic class, by class.
    """

    at: float
    total: Window
    classes: Mapping[str, Window] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngineChange:
    """Something that happened to an engine.

    Attributes:
        at: when it was first seen, epoch seconds.
        what: `restart`, or the fact that changed: a key of `FACTS`.
        was: value before; empty for a restart.
        now: value after; for a restart, what started again.
    """

    at: float
    what: str
    was: str = ""
    now: str = ""

    @property
    def change(self) -> Change:
        """What it is to a monitor."""
        return FACTS.get(self.what, Change.RESTART)

    @property
    def words(self) -> str:
        """It for a person, without its time."""
        return f"{self.what} {self.was} → {self.now}" if self.was else f"{self.what}: {self.now}"


@dataclass(frozen=True, slots=True)
class ModelHistory:
    """One model over time.

    Attributes:
        model: its name.
        interval_s: seconds of an interval.
        intervals: by time; intervals in which nothing was observed are left out.
        changes: by time.
        instances: most pods (or engines) seen at one time.
        depth: draft tokens per draft (K), the most seen.
        facts: the facts that the history tells of; a change of another one would not show.
    """

    model: str
    interval_s: float
    intervals: tuple[Interval, ...]
    changes: tuple[EngineChange, ...] = ()
    instances: int = 1
    depth: int = 1
    facts: frozenset[str] = frozenset()

    @property
    def days(self) -> float:
        """Days from the first interval to the last."""
        return self._span_s / DAY_S

    @property
    def _span_s(self) -> float:
        return self.intervals[-1].at - self.intervals[0].at + self.interval_s if self.intervals else 0.0

    @property
    def observed(self) -> float:
        """Share of the span that was observed, 0 to 1."""
        return min(1.0, len(self.intervals) * self.interval_s / self._span_s) if self.intervals else 0.0

    @property
    def drafts(self) -> float:
        """Draft steps in all."""
        return sum(interval.total.drafts for interval in self.intervals)

    def classes(self) -> list[str]:
        """Traffic classes with drafts, sorted."""
        return sorted({name for interval in self.intervals for name in interval.classes})

    def stream(self, name: str) -> list[tuple[float, Window]]:
        """Times and windows of one class, or of all traffic for the empty name."""
        if not name:
            return [(interval.at, interval.total) for interval in self.intervals]
        return [(interval.at, interval.classes.get(name, NOTHING)) for interval in self.intervals]

    def between(self, start: float | None, end: float | None) -> ModelHistory:
        """The part from a time to another, both included; a change counts if something was observed before it."""
        low, high = -math.inf if start is None else start, math.inf if end is None else end
        kept = tuple(interval for interval in self.intervals if low <= interval.at <= high)
        first = kept[0].at if kept else math.inf
        changes = tuple(change for change in self.changes if first < change.at <= high)
        return replace(self, intervals=kept, changes=changes)


@dataclass(frozen=True, slots=True)
class History:
    """Models over time.

    Attributes:
        interval_s: seconds of an interval.
        models: by name.
        source: where it comes from, in words.
        notes: what the reader of the input noticed, one sentence each.
    """

    interval_s: float
    models: Mapping[str, ModelHistory]
    source: str
    notes: tuple[str, ...] = ()

    def between(self, start: float | None, end: float | None) -> History:
        """The part from a time to another, both included."""
        return replace(self, models={name: own.between(start, end) for name, own in self.models.items()})

    def only(self, model: str | None) -> History:
        """One model, or all for None.

        Raises:
            HistoryError: there is no such model.
        """
        if model is None:
            return self
        if model not in self.models:
            raise HistoryError(f"no model {model!r} in {self.source}; it has: {', '.join(sorted(self.models))}")
        return replace(self, models={model: self.models[model]})


def silence(interval_s: float) -> float:
    """Seconds between two points after which what was counted in between is left out."""
    return max(GAP_S, 1.5 * interval_s)


def spacing(series: Iterable[Iterable[float]]) -> float | None:
    """Usual distance of the times of a series in seconds, whole where it nearly is; None if none has two."""
    usual = []
    for times in series:
        steps = [later - earlier for earlier, later in pairwise(sorted(set(times)))]
        if steps:
            usual.append(median(steps))
    if not usual:
        return None
    found = median(usual)
    return float(round(found)) if round(found) and abs(found - round(found)) < 0.05 * found else found


def chosen_interval(found: float | None, asked: float | None, source: str) -> float:
    """The interval to work with: the data's own, or a coarser one that was asked for.

    Raises:
        HistoryError: there are no two times, or the data is coarser than asked.
    """
    if found is None:
        raise HistoryError(f"{source}: fewer than two points in time; nothing can be learned or judged")
    if asked is None:
        return found
    if asked < 0.75 * found:
        raise HistoryError(
            f"{source}: has a point every {found:g} s, which cannot be cut into intervals of {asked:g} s; "
            f"leave --interval out or ask for {found:g}s or more"
        )
    return asked


def cell(at: float, interval_s: float) -> float:
    """End of the interval that a time belongs to; a time on an edge belongs to the interval that ends there."""
    return math.ceil(at / interval_s - 1e-6) * interval_s


def clock(at: float) -> str:
    """A time for people: UTC, to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def parse_time(text: str) -> float:
    """Epoch seconds from a number, or from ISO 8601; without a zone it is UTC.

    Raises:
        ValueError: it is neither.
    """
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError as error:
            raise ValueError(
                f"{text!r} is no time; write epoch seconds or ISO 8601, such as 2026-03-01T12:00:00Z"
            ) from error
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not 0.0 <= seconds < 1e11:
        raise ValueError(f"{text!r} is no time in epoch seconds (milliseconds? divide by 1000)")
    return seconds

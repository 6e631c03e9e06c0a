"""From a log of windows to evidence: split at a time or at the onset that is found, and added up by group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from specwatch_detectors.chain import inside, variance
from specwatch_detectors.design_effect import BatchMeans, design_effect
from specwatch_detectors.explain.comparison import Comparison, conditionals, draft_variance
from specwatch_detectors.explain.evidence import Course, Dimension, Evidence
from specwatch_detectors.explain.onset import course, find_onset
from specwatch_detectors.explain.window_log import WindowLog
from specwatch_detectors.explain.window_row import LogError, Row
from specwatch_detectors.window import NOTHING, Window

_LEAST_FOR_CORRELATION: Final = 20


@dataclass(frozen=True, slots=True)
class Series:
    """The whole traffic, one window per time.

    Attributes:
        times: in order, seconds.
        windows: as many.
    """

    times: tuple[float, ...]
    windows: tuple[Window, ...]


def series_of(rows: Iterable[Row]) -> Series:
    """Add up the rows of each time, canary prompts left out."""
    found: dict[float, Window] = {}
    for row in rows:
        if row.counted and not row.canary:
            found[row.time] = found.get(row.time, NOTHING) + row.window
    times = tuple(sorted(found))
    return Series(times, tuple(found[time] for time in times))


def gather(log: WindowLog, at: float | None = None, design: float | None = None) -> Evidence:
    """Evidence of one change.

    Args:
        log: rows and events.
        at: time of the change, seconds; windows that end after it count as after. Found from the data if None.
        design: design effect, safety factor included; estimated from the windows before the change if None.

    Raises:
        LogError: no time is given and acceptance has no clear fall, or one side of the time has no windows.
    """
    series = series_of(log.rows)
    if not series.times:
        raise LogError("there are only canary prompts in it")
    spread = _quiet_design(series, at) if design is None else design
    went = course(series.windows, spread)
    start, end = _split_times(series, at, spread, went)
    before = [row for row in log.rows if row.time < start]
    after = [row for row in log.rows if row.time >= end]
    if not before or not after:
        raise LogError("no windows before that time" if not before else "no windows after that time")
    return Evidence(
        total=_compared(before, after, lambda row: row.counted and not row.canary),
        groups=_by_dimension(before, after),
        events=log.events,
        onset=_onset_time(series, start, at),
        interval_s=_interval(series.times),
        design=spread,
        designs=_class_designs(before) if design is None else {},
        course=went[0] if went is not None else None,
        uptimes=_uptimes(after),
        canary=_canary(before, after),
        step_cost=_means(before, after, "step_seconds"),
        batch_correlation=_correlation(after),
        depth=_depth(before, after),
        adaptive=log.adaptive,
        speculating=_speculating(after),
        engine=log.engine,
        method=log.method,
    )


def _quiet_design(series: Series, at: float | None) -> float:
    """The spread before the likeliest moment of the change, because the change itself is none."""
    if at is None:
        found = find_onset(series.windows, 1.0)
        quiet = series.windows if found is None else series.windows[: found.index]
    else:
        pairs = zip(series.times, series.windows, strict=True)
        quiet = tuple(window for time, window in pairs if time <= at)
    return design_of(quiet)


def _class_designs(before: Sequence[Row]) -> dict[str, float]:
    """Each class's own spread: that of the total has the mix in it."""
    names = sorted({row.groups[Dimension.CLASS] for row in before if Dimension.CLASS in row.groups})
    return {name: design_of(_class_windows(before, name)) for name in names}


def _class_windows(rows: Iterable[Row], name: str) -> list[Window]:
    found: dict[float, Window] = {}
    for row in rows:
        if row.groups.get(Dimension.CLASS) == name and not row.canary:
            found[row.time] = found.get(row.time, NOTHING) + row.window
    return [found[time] for time in sorted(found)]


def design_of(windows: Sequence[Window]) -> float:
    """Design effect from the spread of a series, safety factor included; the prior rules under 500 windows."""
    whole = sum(windows, start=NOTHING)
    q = [inside(value) for value in conditionals(whole)]
    spread = BatchMeans()
    for observation in windows:
        spread.update(observation)
    per_draft = variance(q) if q and not whole.censored else draft_variance(whole)
    return design_effect([spread.estimate(per_draft)], spread.intervals)


def _split_times(
    series: Series, at: float | None, design: float, went: tuple[Course, int] | None
) -> tuple[float, float]:
    """Before is everything that ended before the first time, after everything from the second on."""
    if at is not None:
        first = next((time for time in series.times if time > at), math.inf)
        return first, first
    found = find_onset(series.windows, design)
    if found is None:
        raise LogError("acceptance has no clear fall in it; give the time of the change with --at")
    if went is not None and went[0] is Course.RAMP and 0 < went[1] < found.index:
        return series.times[went[1]], series.times[found.index]
    return series.times[found.index], series.times[found.index]


def _onset_time(series: Series, start: float, at: float | None) -> float:
    """The change lies between the last window before and the first one after; its beginning is taken."""
    return at if at is not None else max((time for time in series.times if time < start), default=start)


def _interval(times: Sequence[float]) -> float:
    gaps = sorted(later - sooner for sooner, later in pairwise(times))
    return gaps[len(gaps) // 2] if gaps else 10.0


def _added(rows: Iterable[Row]) -> Window:
    return sum((row.window for row in rows), start=NOTHING)


def _compared(before: Sequence[Row], after: Sequence[Row], wanted: Callable[[Row], bool]) -> Comparison:
    return Comparison(_added(filter(wanted, before)), _added(filter(wanted, after)))


def _by_dimension(before: Sequence[Row], after: Sequence[Row]) -> dict[Dimension, dict[str, Comparison]]:
    found = {}
    for dimension in Dimension:
        sides = [[row for row in rows if dimension in row.groups and not row.canary] for rows in (before, after)]
        if any(row.counted for rows in sides for row in rows):
            sides = [[row for row in rows if row.counted] for rows in sides]
        names = sorted({row.groups[dimension] for rows in sides for row in rows})
        if names:
            found[dimension] = {
                name: Comparison(*(_added_of(rows, dimension, name) for rows in sides)) for name in names
            }
    return found


def _added_of(rows: Iterable[Row], dimension: Dimension, name: str) -> Window:
    return _added(row for row in rows if row.groups[dimension] == name)


def _canary(before: Sequence[Row], after: Sequence[Row]) -> Comparison | None:
    found = _compared(before, after, lambda row: row.canary)
    return found if found.both else None


def _uptimes(rows: Sequence[Row]) -> dict[str, float] | None:
    found = {
        row.groups[Dimension.POD]: row.measures["uptime_s"]
        for row in rows
        if Dimension.POD in row.groups and "uptime_s" in row.measures
    }
    return found or None


def _means(before: Sequence[Row], after: Sequence[Row], name: str) -> tuple[float, float] | None:
    """Mean of a measure on both sides, weighted with drafts."""
    sides = []
    for rows in (before, after):
        known = [row for row in rows if name in row.measures and row.window.drafts > 0.0]
        drafts = sum(row.window.drafts for row in known)
        if drafts <= 0.0:
            return None
        sides.append(sum(row.measures[name] * row.window.drafts for row in known) / drafts)
    return sides[0], sides[1]


def _depth(before: Sequence[Row], after: Sequence[Row]) -> tuple[float, float] | None:
    sides = []
    for rows in (before, after):
        known = [row for row in rows if "draft_tokens" in row.measures and row.window.drafts > 0.0]
        drafts = sum(row.window.drafts for row in known)
        if drafts <= 0.0:
            return None
        sides.append(sum(row.measures["draft_tokens"] for row in known) / drafts)
    return sides[0], sides[1]


def _speculating(rows: Sequence[Row]) -> bool | None:
    """Off for most of the time is off."""
    known = [row.measures["spec_num_steps"] > 0.0 for row in rows if "spec_num_steps" in row.measures]
    return sum(known) * 2 > len(known) if known else None


def _correlation(rows: Sequence[Row]) -> float | None:
    pairs = [
        (row.measures["running"], row.window.accepted_tokens / row.window.drafts)
        for row in rows
        if "running" in row.measures and row.window.drafts > 0.0 and not row.canary
    ]
    if len(pairs) < _LEAST_FOR_CORRELATION:
        return None
    middle = [sum(values) / len(pairs) for values in zip(*pairs, strict=True)]
    spreads = [sum((pair[axis] - middle[axis]) ** 2 for pair in pairs) for axis in (0, 1)]
    if min(spreads) <= 0.0:
        return None
    cross = sum((x - middle[0]) * (y - middle[1]) for x, y in pairs)
    return float(cross / math.sqrt(spreads[0] * spreads[1]))

"""Replay of a history through the monitor that would have watched it: what it learned, when it spoke, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specwatch_detectors import chain
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.deploy_test import ERROR
from specwatch_detectors.history import EngineChange, Interval, ModelHistory
from specwatch_detectors.model_monitor import Calibration, ModelMonitor, ModelReading
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.threshold import information_rate, optimal_delay
from specwatch_detectors.window import NOTHING, Window

ALL: Final = ""
"""Name of the stream of all traffic."""
DEPLOY_THRESHOLD: Final = math.log((1.0 - ERROR) / ERROR)
_MOST_DIGITS: Final = 1e15


@dataclass(frozen=True, slots=True)
class Point:
    """What was known after one interval.

    Attributes:
        at: its end, epoch seconds.
        state: the verdict.
        score: evidence over threshold behind the verdict, a running deploy test's included; None while nothing can
            be judged.
        length: acceptance length of the interval itself, or None without drafts.
        recent: that of the last minutes.
        baseline: that of the baseline, or None before there is one.
        mix_shift: the mix of traffic moved, the draft did not.
        complete: the baseline is good enough for the smallest drops.
    """

    at: float
    state: DriftState
    score: float | None
    length: float | None
    recent: float | None
    baseline: float | None
    mix_shift: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm.

    Attributes:
        at: when, epoch seconds.
        reason: the monitor's words; where classes had drifted, each of theirs with its own numbers.
        since: when the evidence began, or None.
        classes: traffic classes that had drifted then.
        change: the last thing that happened to the engine before it, or None.
        bound_intervals: least mean delay in intervals that any detector with this budget has for this drop.
    """

    at: float
    reason: str
    since: float | None
    classes: tuple[str, ...]
    change: EngineChange | None
    bound_intervals: float | None

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "at": self.at,
            "reason": self.reason,
            "evidence_since": self.since,
            "classes": list(self.classes),
            "engine_change": None if self.change is None else {"at": self.change.at, "what": self.change.words},
            "least_delay_intervals": self.bound_intervals,
        }


@dataclass(frozen=True, slots=True)
class MixShift:
    """A change of the mix of traffic, told apart from drift: no alarm.

    Attributes:
        at: when it was noticed, epoch seconds.
        reason: the monitor's words.
        since: when the evidence began, or None.
    """

    at: float
    reason: str
    since: float | None


@dataclass(slots=True)
class Replayed:
    """The replay of one model.

    Attributes:
        history: what was replayed.
        points: one per interval.
        alarms: by time.
        mix_shifts: by time.
        recoveries: times at which a drift was over.
        settings: of the monitor.
        monitor: as it is at the end.
    """

    history: ModelHistory
    settings: MonitorSettings
    monitor: ModelMonitor
    points: list[Point] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    mix_shifts: list[MixShift] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)

    @property
    def drafts_words(self) -> str:
        """Drafts replayed, for a person: all digits while that can be read."""
        drafts = self.history.drafts
        return f"{drafts:,.0f}" if drafts < _MOST_DIGITS else f"{drafts:.3g}"

    @property
    def learned_s(self) -> float | None:
        """Seconds from the first interval until the smallest drops were watched for; None if never."""
        at = next((point.at for point in self.points if point.complete), None)
        return None if at is None else at - self.points[0].at


def replay(
    history: ModelHistory,
    settings: MonitorSettings,
    calibrations: Mapping[str, Calibration] | None = None,
) -> Replayed:
    """Feed a history to a model's monitor, interval by interval, with the changes of its engine.

    Args:
        history: of one model.
        settings: budget and limits; the budget's interval is the history's.
        calibrations: from a profile; what it lacks is learned from the history's beginning.
    """
    found = Replayed(history, settings, ModelMonitor(settings, depth=history.depth, calibrations=calibrations))
    changes = [change for change in history.changes if _matters(change, history)]
    upcoming = 0
    for number, interval in enumerate(history.intervals):
        while upcoming < len(changes) and changes[upcoming].at <= interval.at:
            found.monitor.changed(changes[upcoming].change)
            upcoming += 1
        alarms, tested = found.monitor.alarms, found.monitor.total.testing_deploy
        reading = found.monitor.update(interval.total, interval.at, interval.classes)
        _record(found, reading, interval)
        if found.monitor.alarms > alarms and reading.verdict.state is DriftState.DRIFTED:
            last = changes[upcoming - 1] if upcoming else None
            found.alarms.append(_alarm(found, reading, number, last, tested=tested))
    return found


def _matters(change: EngineChange, history: ModelHistory) -> bool:
    """A restart of one of several pods changes little in their sum."""
    return change.change is not Change.RESTART or history.instances == 1


def _record(found: Replayed, reading: ModelReading, interval: Interval) -> None:
    before = found.points[-1] if found.points else None
    verdict = reading.verdict
    point = Point(
        interval.at,
        verdict.state,
        _score(found.monitor, reading),
        interval.total.length,
        verdict.length,
        verdict.baseline_length,
        reading.mix_shift,
        found.monitor.total.bank.complete,
    )
    found.points.append(point)
    new = not found.mix_shifts or found.mix_shifts[-1].since != verdict.since
    if point.mix_shift and new and not (before is not None and before.mix_shift):
        found.mix_shifts.append(MixShift(interval.at, verdict.reason, verdict.since))
    over = before is not None and before.state is DriftState.DRIFTED and point.state is not DriftState.DRIFTED
    if over and not point.mix_shift and point.state is not DriftState.CANNOT_TELL:
        found.recoveries.append(interval.at)


def _score(monitor: ModelMonitor, reading: ModelReading) -> float | None:
    """The verdict's score; while a deploy is tested, that test's evidence over its threshold."""
    if reading.verdict.score is not None or not monitor.total.testing_deploy:
        return reading.verdict.score
    test = monitor.total.state()["deploy"]
    return max(0.0, float(test["evidence"]) / DEPLOY_THRESHOLD)


def _alarm(
    found: Replayed, reading: ModelReading, number: int, last: EngineChange | None, *, tested: bool
) -> Alarm:
    history, verdict = found.history, reading.verdict
    intervals = history.intervals[: number + 1]
    since = last.at - history.interval_s if tested and last is not None else verdict.since
    onset = intervals[-1].at - history.interval_s if since is None else since
    after = [interval for interval in intervals if interval.at > onset]
    classes = sorted(name for name, own in reading.classes.items() if own.state is DriftState.DRIFTED)
    bound = None if tested else _bound(found, added(after)[ALL], len(after))
    return Alarm(intervals[-1].at, _reason(reading, classes), since, tuple(classes), last, bound)


def _reason(reading: ModelReading, classes: list[str]) -> str:
    """Why, in the numbers of what is named: those of the drifted classes, else those of all traffic."""
    if not classes:
        return reading.verdict.reason
    if len(classes) == 1:
        return reading.classes[classes[0]].reason
    return "; ".join(f"{name}: {reading.classes[name].reason}" for name in classes)


def added(intervals: Iterable[Interval]) -> dict[str, Window]:
    """Intervals as one, by class; the empty name is all traffic."""
    found = {ALL: NOTHING}
    for interval in intervals:
        found[ALL] += interval.total
        for name, window in interval.classes.items():
            found[name] = found.get(name, NOTHING) + window
    return found


def _bound(found: Replayed, after: Window, intervals: int) -> float | None:
    """Least mean delay of any detector for a drop as large as the one seen, in intervals."""
    bank = found.monitor.total.bank
    now = Baseline(after).q
    if not now or not bank.baseline.q or chain.mean_accepted(now) >= chain.mean_accepted(bank.baseline.q):
        return None
    rate = information_rate(now, bank.baseline.q, after.drafts / intervals, bank.design)
    return optimal_delay(found.settings.budget.run_length, rate)

"""Calibration: baseline, design effect and threshold of each stream from days of history, checked by a replay.

What carries the guarantee. The threshold is h = ln(ARL0): a CUSUM whose increments keep E[exp(l)] <= 1 under the
baseline has a mean time of at least exp(h) intervals between false alarms (Lorden 1971). Increments keep it when
the design effect is not too small, which is what the fit measures (`stream_fit.py`) and the safety factor covers:
with d too small by a factor c, false alarms grow as exp(h (1 - 1/c)).

What the replay can and cannot show. Running the fitted monitor over the same quiet days can refute the fit: a score
over h would say that d, the baseline or the quiet is not what was assumed. It cannot prove the rate: after D days
without an alarm the 95 % bound is 3/D a day (rule of three), so 7 days bound it at 13 in 30 days, and 1 in 30 days
would need 90 quiet days. It is also a replay of the days that were fitted, so it flatters a little. Hence: the
largest score must be under h; where it is not, h becomes 1.1 times it; and where it is over h by more than ln(100),
which chance brings about once in 500 quiet weeks, the history is not quiet and is refused.

What is refused, with the reason: less than 7 days, or fewer than a hundredth of the time between the false pages
asked for; less than half of the time observed; too few drafts for the baseline; a change of version, method or K
inside; a change of level inside (drift, or without classes a change of mix); an alarm in the replay.

A change of the mix that the classes explain is noted and not refused: the classes then give the verdict, and all
traffic together, which has no one baseline, is left out.
Sources: Lorden 1971; Hanley and Lippman-Hand 1983 (rule of three).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from specwatch_detectors.class_coverage import LEAST_COVERAGE
from specwatch_detectors.class_monitor import MAX_CLASSES
from specwatch_detectors.drift_bank import DriftBank
from specwatch_detectors.history import DAY_S, History, ModelHistory, clock
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.profile import ModelProfile, Profile, StreamProfile
from specwatch_detectors.reading import Change
from specwatch_detectors.replaying import ALL, replay
from specwatch_detectors.request_records import Records
from specwatch_detectors.settled_design import settle
from specwatch_detectors.stream_fit import Step, StreamFit, fit

LEAST_DAYS: Final = 7.0
FAR: Final = 100.0
"""The time between false pages may be at most this many times the history: further is not calibration but hope."""
LEAST_OBSERVED: Final = 0.5
RAISE: Final = 1.1
_DEPLOYS: Final = frozenset({Change.VERSION, Change.METHOD, Change.DEPTH, Change.DEPLOY})
_SHIFT: Final = "choose a quiet part with --from and --to"


class CalibrationRefusedError(ValueError):
    """The history cannot certify the budget.

    Attributes:
        reasons: all of them, one sentence each, with times.
    """

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class _Peak:
    """The largest evidence of a replay, when it was, and when it began to grow."""

    score: float = 0.0
    at: float | None = None
    since: float | None = None


def least_days(pages: float) -> float:
    """Days of history that a budget of false pages per 30 days needs."""
    return max(LEAST_DAYS, 30.0 / pages / FAR)


def alarm_bound(days: float) -> float:
    """95 % upper bound on false alarms in 30 days after a replay without any (rule of three)."""
    return 3.0 * 30.0 / days


def stream_threshold(name: str, settings: MonitorSettings) -> float:
    """H of a stream from the budget of its model: a class has its share of half of it, as in `class_monitor.py`."""
    budget = settings.budget
    if name == ALL:
        return budget.threshold
    return replace(budget, statistics=2 * budget.statistics * MAX_CLASSES).threshold


def calibrate(
    history: History,
    settings: MonitorSettings,
    *,
    created: float,
    requests: Mapping[str, Records] | None = None,
) -> Profile:
    """Make a profile of every model in a history.

    Args:
        history: of at least a week.
        settings: with the budget asked for; its interval is replaced by the history's.
        created: time now, epoch seconds.
        requests: by model, records of single requests by class.

    Raises:
        CalibrationRefusedError: the data cannot certify the budget for some model; it has all reasons.
    """
    used = replace(settings, budget=replace(settings.budget, interval_s=history.interval_s))
    models, reasons, notes = {}, [], list(history.notes)
    for name, own in sorted(history.models.items()):
        try:
            models[name], told = _model(own, used, (requests or {}).get(name, {}))
            notes += [f"{name}: {note}" for note in told]
        except CalibrationRefusedError as error:
            reasons += [f"{name}: {reason}" for reason in error.reasons]
    if reasons:
        raise CalibrationRefusedError(reasons)
    return Profile(history.interval_s, settings.budget.pages, created, history.source, models, tuple(notes))


def _model(history: ModelHistory, settings: MonitorSettings, requests: Records) -> tuple[ModelProfile, list[str]]:
    reasons = _amount(history, settings.budget.pages) + _deploys(history)
    if reasons:
        raise CalibrationRefusedError(reasons)
    fits = {
        name: found
        for name in (ALL, *history.classes()[:MAX_CLASSES])
        if (found := fit(history.stream(name), history.depth, history.interval_s, requests.get(name, ())))
    }
    if ALL not in fits:
        raise CalibrationRefusedError(["nothing or everything was accepted, so there is no spread to measure"])
    usable, notes = _usable(history, fits, settings)
    streams = {name: _profile(history, name, found, settings) for name, found in usable.items()}
    _confirm(history, settings, streams)
    start, end = history.intervals[0].at, history.intervals[-1].at
    return ModelProfile(history.depth, start, end, streams), notes


def _amount(history: ModelHistory, pages: float) -> list[str]:
    """Is there enough of it?"""
    reasons = []
    needed = least_days(pages)
    if history.days < 1.0:
        reasons.append(
            f"{history.days * 24:.1f} hours of history: less than a day says nothing about other hours of the day, "
            f"one bad hour would be taken for forty false alarms a month; {needed:g} days are needed"
        )
    elif history.days < needed - history.interval_s / DAY_S:
        reasons.append(
            f"{history.days:.1f} days of history; {pages:g} false pages in 30 days need {needed:g} days or more"
        )
    if history.observed < LEAST_OBSERVED:
        reasons.append(f"only {history.observed:.0%} of the time was observed, the rest are gaps; half is needed")
    return reasons


def _deploys(history: ModelHistory) -> list[str]:
    return [
        f"{change.words} at {clock(change.at)}: two engines are not one baseline; {_SHIFT}"
        for change in history.changes
        if change.change in _DEPLOYS
    ]


def _usable(
    history: ModelHistory, fits: Mapping[str, StreamFit], settings: MonitorSettings
) -> tuple[dict[str, StreamFit], list[str]]:
    """The streams that stayed where they were and have drafts enough, and what to note about the others.

    Changes of level come first: they widen the design effect, and with it the drafts that seem to be needed.

    Raises:
        CalibrationRefusedError: a class moved, or all traffic and no classes that explain it, or it is too little.
    """
    moved = {name: step for name, found in fits.items() if (step := found.step) is not None and step.real}
    drifts = [
        f"{_said(step)} within class {name}: the draft drifted" for name, step in moved.items() if name != ALL
    ]
    if drifts:
        raise CalibrationRefusedError([f"{words}; {_SHIFT}" for words in drifts])
    few = {name: words for name, found in fits.items() if (words := _too_few(history, name, found, settings))}
    usable = {name: found for name, found in fits.items() if name not in moved and name not in few}
    notes = [f"class {name} is left out, the sidecar learns it: {few[name]}" for name in few if name != ALL]
    covered = sum(found.baseline.counts.drafts for name, found in usable.items() if name != ALL)
    if ALL in moved and covered < LEAST_COVERAGE * history.drafts:
        either = "drift, or a change of mix, which cannot be told apart without traffic classes"
        raise CalibrationRefusedError([f"{_said(moved[ALL])}: {either}; {_SHIFT}"])
    if ALL in moved:
        left = "no class moved, and the classes give the verdict; all traffic together is left out"
        notes.append(f"{_said(moved[ALL])} by a change of mix: {left}")
    elif ALL in few:
        raise CalibrationRefusedError([f"too few drafts: {few[ALL]}"])
    return usable, notes


def _too_few(history: ModelHistory, name: str, found: StreamFit, settings: MonitorSettings) -> str:
    """Why the baseline is not known well enough, or nothing."""
    have, need = found.baseline.counts.drafts, found.drafts_needed(settings.profile_safety, history.depth)
    if have >= need and _bank(found, settings, name, history.depth).complete:
        return ""
    return f"{have:,.0f} drafts, and {need:,.0f} are needed at a design effect of {found.design:.1f}"


def _said(step: Step) -> str:
    return (
        f"acceptance length moved from {step.before:.3f} to {step.after:.3f} ({step.share:+.1%} accepted, "
        f"{abs(step.errors):.0f} standard errors) about {clock(step.at)}"
    )


def _bank(found: StreamFit, settings: MonitorSettings, name: str, depth: int) -> DriftBank:
    threshold = stream_threshold(name, settings)
    return DriftBank(
        found.baseline, design=found.used_design(settings.profile_safety), threshold=threshold, depth=depth
    )


def _profile(history: ModelHistory, name: str, found: StreamFit, settings: MonitorSettings) -> StreamProfile:
    """Replay one stream, and set its threshold above everything that was seen.

    Raises:
        CalibrationRefusedError: the score is too far over the threshold for chance.
    """
    threshold = stream_threshold(name, settings)
    days = found.intervals * history.interval_s / DAY_S

    def replayed(each: StreamFit) -> _Peak:
        return _replayed(history, name, _bank(each, settings, name, history.depth), threshold)

    found = settle(found, lambda each: replayed(each).score, threshold, days)
    peak = replayed(found)
    if peak.score > threshold + math.log(FAR):
        where = f" in class {name}" if name else ""
        began = "" if peak.since is None else f" from {clock(peak.since)}"
        words = f"acceptance dropped{where}{began} to {clock(peak.at or 0.0)}"
        against = f"evidence {peak.score:.1f} against a threshold of {threshold:.1f}"
        raise CalibrationRefusedError([f"{words}: {against}; {_SHIFT}"])
    raised = threshold if peak.score < threshold else RAISE * peak.score
    return StreamProfile(found.baseline, found.design, found.design_from, raised, peak.score, peak.at, days)


def _replayed(history: ModelHistory, name: str, bank: DriftBank, threshold: float) -> _Peak:
    peak, since = _Peak(), None
    before = history.intervals[0].at
    for at, window in history.stream(name):
        if window.drafts > 0.0:
            bank.update(window)
            since = None if bank.quiet else (before if since is None else since)
            score = threshold * max((own for key, own in bank.scores.items() if key != "hard"), default=0.0)
            if score > peak.score:
                peak = _Peak(score, at, since)
        before = at
    return peak


def _confirm(history: ModelHistory, settings: MonitorSettings, streams: Mapping[str, StreamProfile]) -> None:
    """The monitor as it will run, over the same days, must not alarm.

    Raises:
        CalibrationRefusedError: it does.
    """
    known = {name: Calibration(own.baseline, own.design, own.threshold) for name, own in streams.items()}
    found = replay(history, settings, known)
    if found.alarms:
        raise CalibrationRefusedError(
            [f"the replay alarms at {clock(alarm.at)}: {alarm.reason}; {_SHIFT}" for alarm in found.alarms[:5]]
        )

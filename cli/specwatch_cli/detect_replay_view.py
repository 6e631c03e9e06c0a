"""What `specwatch detect replay` says, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from specwatch_detectors.explain.explanation import Explanation
from specwatch_detectors.history import EngineChange, History, clock
from specwatch_detectors.replay_cause import cause_of
from specwatch_detectors.replaying import Alarm, MixShift, Replayed

_MOST = 20
"""Events of one kind that are printed; more than that is counted."""


def as_text(history: History, found: Sequence[Replayed], change_at: float | None) -> list[str]:
    """Lines for a person."""
    lines = [f"note: {note}" for note in history.notes]
    for one in found:
        lines += ["", *_model(one, change_at)] if lines else _model(one, change_at)
    return lines


def _model(found: Replayed, change_at: float | None) -> list[str]:
    history = found.history
    classes = history.classes()
    of = f", classes {', '.join(classes)}" if classes else ", no classes: a change of mix cannot be told from drift"
    gaps = f", {1.0 - history.observed:.1%} gaps" if history.observed < 0.999 else ""
    span = f"{_span(history.days)} in intervals of {history.interval_s:g} s{gaps}"
    lines = [
        f"{history.model}: {span}, {found.drafts_words} drafts, K {history.depth}{of}",
        f"  baseline: {_baseline(found)}",
    ]
    told: list[tuple[float, list[str]]] = [(change.at, [_line(change.at, change.words)]) for change in _told(found)]
    told += [(alarm.at, list(_alarm(found, alarm, change_at))) for alarm in found.alarms[:_MOST]]
    told += [(shift.at, list(_mix(found, shift))) for shift in found.mix_shifts[:_MOST]]
    told += [(at, [_line(at, "recovered: acceptance is as the baseline again")]) for at in found.recoveries[:_MOST]]
    for _, own in sorted(told, key=lambda pair: pair[0]):
        lines += own
    for words, count in (("alarms", len(found.alarms)), ("changes of mix", len(found.mix_shifts))):
        if count > _MOST:
            lines.append(f"  ... {count} {words} in all, {_MOST} shown")
    return [*lines, *_end(found, change_at)]


def _baseline(found: Replayed) -> str:
    reading = found.monitor.reading(found.points[-1].at).total
    if reading.baseline_length is None:
        return "none: nothing was learned"
    length = f"acceptance length {reading.baseline_length:.2f}, design effect {reading.design or 0.0:.0f}"
    own = [
        f"{name} {one.baseline_length:.2f}"
        for name, one in sorted(found.monitor.reading(found.points[-1].at).classes.items())
        if one.baseline_length is not None
    ]
    by_class = f"; {', '.join(own)}" if own else ""
    if reading.calibrated:
        return f"{length}, from the profile{by_class}"
    learned = found.learned_s
    if learned is None:
        return f"{length}, still young at the end: small drops were not watched for{by_class}"
    return f"{length}, drops of 3 % watched for after {_minutes(learned)}{by_class}"


def _told(found: Replayed) -> list[EngineChange]:
    return list(found.history.changes[:_MOST])


def _alarm(found: Replayed, alarm: Alarm, change_at: float | None) -> Iterator[str]:
    where = f" in class {', '.join(alarm.classes)}" if alarm.classes else ""
    yield _line(alarm.at, f"ALARM{where}: {alarm.reason}")
    interval = found.history.interval_s
    if change_at is not None and alarm.at > change_at:
        yield f"    delay: {_delay(alarm.at - change_at, interval)} after the change at {clock(change_at)}"
    elif change_at is not None:
        yield f"    false: before the change at {clock(change_at)}"
    elif alarm.since is not None:
        yield f"    evidence since {clock(alarm.since)}: {_delay(alarm.at - alarm.since, interval)}"
    if alarm.bound_intervals is not None:
        bound = _delay(alarm.bound_intervals * interval, interval)
        yield f"    for such a drop no detector with this budget is faster than {bound} on average"
    yield from _cause(cause_of(found, alarm))


def _mix(found: Replayed, shift: MixShift) -> Iterator[str]:
    yield _line(shift.at, f"no alarm: {shift.reason}")
    yield from _cause(cause_of(found, shift))


def _cause(cause: Explanation) -> Iterator[str]:
    first, *rest = cause.text().splitlines()
    yield f"    cause: {first}"
    yield from (f"      {line}" if line else "" for line in rest)


def _end(found: Replayed, change_at: float | None) -> list[str]:
    last, alarms = found.points[-1], len(found.alarms)
    words = f"  end: {last.state.value.replace('_', ' ')}, {alarms} alarm{'' if alarms == 1 else 's'}"
    if change_at is not None:
        early = sum(alarm.at <= change_at for alarm in found.alarms)
        words += f", {early} of them before the change"
        if alarms == early:
            words += "; the change was not alarmed"
    scores = [point.score for point in found.points if point.score is not None]
    return [f"{words}; largest score {max(scores):.2f} of the threshold" if scores else words]


def _line(at: float, words: str) -> str:
    return f"  {clock(at)}  {words}"


def _delay(seconds: float, interval_s: float) -> str:
    count = max(1, round(seconds / interval_s))
    return f"{count:,} interval{'' if count == 1 else 's'} ({_minutes(seconds)})"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600.0 else f"{seconds / 60.0:.0f} min"


def _span(days: float) -> str:
    return f"{days * 24.0:.1f} hours" if days < 2.0 else f"{days:.1f} days"


def as_json(history: History, found: Sequence[Replayed], change_at: float | None) -> dict[str, Any]:
    """One object for machines; times are epoch seconds, unknown is null."""
    return {
        "source": history.source,
        "interval_s": history.interval_s,
        "change_at": change_at,
        "notes": list(history.notes),
        "models": {one.history.model: _model_json(one, change_at) for one in found},
    }


def _model_json(found: Replayed, change_at: float | None) -> dict[str, Any]:
    reading = found.monitor.reading(found.points[-1].at).total
    scores = [point.score for point in found.points if point.score is not None]
    return {
        "days": found.history.days,
        "observed": found.history.observed,
        "drafts": found.history.drafts,
        "classes": found.history.classes(),
        "baseline_length": reading.baseline_length,
        "design_effect": reading.design,
        "calibrated": reading.calibrated,
        "changes": [{"at": change.at, "what": change.words} for change in found.history.changes],
        "alarms": [_alarm_json(found, alarm, change_at) for alarm in found.alarms],
        "mix_shifts": [
            {"at": shift.at, "since": shift.since, "reason": shift.reason} for shift in found.mix_shifts
        ],
        "recoveries": found.recoveries,
        "largest_score": max(scores, default=None),
        "state": found.points[-1].state.value,
    }


def _alarm_json(found: Replayed, alarm: Alarm, change_at: float | None) -> dict[str, Any]:
    delay = None if change_at is None or alarm.at <= change_at else alarm.at - change_at
    return {**alarm.as_json(), "delay_s": delay, "cause": cause_of(found, alarm).as_json()}

"""What the sidecar's detectors know at one moment, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.payoff.estimate import UNPROFILED
from specwatch_detectors.payoff.payoff import Verdict
from specwatch_detectors.payoff.payoff_reading import PayoffReport
from specwatch_detectors.reading import DriftState
from specwatch_detectors.sidecar_latency import SignalReading
from specwatch_detectors.sidecar_words import Words
from specwatch_exporters.sidecar.watcher import Judgement


@dataclass(frozen=True, slots=True)
class Present:
    """What is known of one model.

    Attributes:
        name: of the model.
        reading: verdict on the draft.
        words: why, or None where there is nothing to explain.
        payoff: whether speculation pays; None, or without readings, where nobody can tell any more.
        signals: verdicts on per-token latency and queue wait.
        remark: on the drift profile, or empty.
    """

    name: str
    reading: ModelReading
    words: Words | None
    payoff: PayoffReport | None
    signals: tuple[SignalReading, ...]
    remark: str


def judgement(one: Present, now: float) -> Judgement:
    """The model for the status page, at a time on the clock of the monitors."""
    reading, words = one.reading, one.words
    verdict = reading.verdict
    classes = tuple(f"{name}: {own.reason}" for name, own in sorted(reading.classes.items()))
    signals = (own.reason for own in one.signals if own.state is DriftState.DRIFTED)
    return Judgement(
        one.name,
        verdict.state.value,
        verdict.reason,
        cause="" if words is None else words.cause,
        details=(*(() if words is None else words.details), *classes),
        next_steps=() if words is None else words.next_steps,
        score=verdict.score,
        over=verdict.over,
        since_s=None if verdict.since is None else now - verdict.since,
        alarms=verdict.alarms,
        remarks=tuple(filter(None, (*signals, one.remark))),
        payoff=_payoff(one.payoff),
    )


def _payoff(report: PayoffReport | None) -> str:
    """The answer; nothing where nobody asked (no profile) and nobody can tell."""
    main = None if report is None else report.main
    if report is None or main is None:
        return ""
    unasked = report.profile in {None, UNPROFILED} and main.verdict is Verdict.CANNOT_TELL
    return "" if unasked else report.sentence

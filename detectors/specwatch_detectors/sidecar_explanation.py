"""Why acceptance moved, from what a sidecar knows: totals, classes and the events that it saw."""

from __future__ import annotations

from typing import Final

from specwatch_detectors.engine_events import EngineEvents
from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.evidence import Dimension, Evidence
from specwatch_detectors.explain.explanation import Explanation, Outcome, explain
from specwatch_detectors.explain.signatures import shipped
from specwatch_detectors.model_monitor import ModelMonitor, ModelReading
from specwatch_detectors.reading import DriftState
from specwatch_detectors.recent_windows import RecentWindows
from specwatch_detectors.sidecar_words import Words
from specwatch_exporters.report import ModelReport

_ENGINES: Final = frozenset({"vllm", "sglang", "trtllm"})
_MIX: Final = "mix_shift"
_MAX_LINES: Final = 6


def explanation_of(
    monitor: ModelMonitor,
    reading: ModelReading,
    recent: RecentWindows,
    events: EngineEvents,
    report: ModelReport,
    *,
    interval_s: float,
    adaptive: bool,
) -> Explanation:
    """Explain the present verdict; one that is not on the mix is not explained by it.

    Args:
        monitor: of the model, for design effects and, where history is short, the baseline.
        reading: its present verdict.
        recent: what was drafted and accepted lately.
        events: what happened to the engine, with times on the clock of the monitor.
        report: the model as the sidecar reads it.
        interval_s: seconds between scrapes.
        adaptive: the engine changes K by itself.
    """
    onset = reading.verdict.since
    total, classes = recent.around(onset if onset is not None else 0.0)
    bank = monitor.total.bank
    if total.before.drafts < bank.baseline.counts.drafts and total.before.drafts < bank.design * 100.0:
        total = Comparison(bank.baseline.counts, total.after).of_one_depth()
    designs = {name: own.bank.design for name, own in monitor.classes.monitors.items()}
    engine = report.definition.partition("-")[0]
    evidence = Evidence(
        total,
        groups={Dimension.CLASS: classes} if classes else {},
        events=events.listed(),
        watched_since=events.watched_since,
        onset=onset,
        interval_s=interval_s,
        design=bank.design,
        designs=designs,
        alarmed=reading.total.state is DriftState.DRIFTED,
        adaptive=adaptive,
        engine=engine if engine in _ENGINES else "",
        method=report.method or "",
    )
    found = explain(evidence)
    if found.cause == _MIX and not reading.mix_shift:
        found = explain(evidence, [cause for cause in shipped() if cause.id != _MIX])
    return found


def words_of(explanation: Explanation, reading: ModelReading, before: Words | None) -> Words:
    """The explanation as lines; where the detectors' verdict is the mix, that is the cause.

    Args:
        explanation: of the present verdict, from what is known now.
        reading: the present verdict.
        before: what was said of the same verdict; a cause that it names stays if none is named now, unless what is
            known now speaks against it.
    """
    if reading.mix_shift and explanation.cause != _MIX:
        return _mix_words(explanation)
    named = explanation.outcome is Outcome.NAMED
    if not named and before is not None and before.cause and not _excluded(before.cause, explanation):
        return before
    lines = []
    for ranked in explanation.candidates[: 1 if named else 2]:
        lines += [f"for: {reason.words}" for reason in ranked.evidence_for]
        lines += [f"against: {reason.words}" for reason in ranked.evidence_against]
    if not named:
        events = explanation.facts["rollout_near"]
        lines[:0] = [explanation.headline, *([events.words] if events.holds is None else [])]
    cause = explanation.candidates[0].cause.name if named else ""
    return Words(cause, tuple(lines[:_MAX_LINES]), explanation.next_checks[:4])


def _mix_words(explanation: Explanation) -> Words:
    """The mix as the cause, with what speaks for it; the detectors have more to go by than the last hour."""
    cause = next(cause for cause in shipped() if cause.id == _MIX)
    reasons = [row.evidence_for for row in explanation.ranking.causes if row.cause.id == _MIX]
    lines = [f"for: {reason.words}" for found in reasons for reason in found]
    return Words(cause.name, tuple(lines[:_MAX_LINES]), cause.checks[:4])


def _excluded(cause: str, explanation: Explanation) -> bool:
    """Whether what is known now speaks against a cause rather than for it; what is not known does neither."""
    found = (row for row in explanation.ranking.causes if row.cause.name == cause)
    return any(sum(reason.nats for reason in (*row.evidence_for, *row.evidence_against)) < 0.0 for row in found)

"""Why acceptance moved, from what a sidecar knows: totals, classes and the events that it saw."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.event import Event, EventKind
from specwatch_detectors.explain.evidence import Dimension, Evidence
from specwatch_detectors.explain.explanation import Explanation, Outcome, explain
from specwatch_detectors.model_monitor import ModelMonitor, ModelReading
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.recent_windows import RecentWindows
from specwatch_detectors.sidecar_words import Words
from specwatch_exporters.report import ModelReport

_ENGINES: Final = frozenset({"vllm", "sglang", "trtllm"})
_MAX_LINES: Final = 6


def explanation_of(
    monitor: ModelMonitor,
    reading: ModelReading,
    recent: RecentWindows,
    changes: Iterable[tuple[float, Change]],
    report: ModelReport,
    *,
    interval_s: float,
    adaptive: bool,
) -> Explanation:
    """Explain the present verdict.

    Args:
        monitor: of the model, for design effects and, where history is short, the baseline.
        reading: its present verdict.
        recent: what was drafted and accepted lately.
        changes: events with their times, the clock of the monitor.
        report: the model as the sidecar reads it.
        interval_s: seconds between scrapes.
        adaptive: the engine changes K by itself.
    """
    onset = reading.verdict.since
    total, classes = recent.around(onset if onset is not None else 0.0)
    bank = monitor.total.bank
    if total.before.drafts < bank.baseline.counts.drafts and total.before.drafts < bank.design * 100.0:
        total = Comparison(bank.baseline.counts, total.after)
    designs = {name: own.bank.design for name, own in monitor.classes.monitors.items()}
    engine = report.definition.partition("-")[0]
    return explain(
        Evidence(
            total,
            groups={Dimension.CLASS: classes} if classes else {},
            events=tuple(Event(EventKind(change.value), at) for at, change in changes),
            onset=onset,
            interval_s=interval_s,
            design=bank.design,
            designs=designs,
            alarmed=reading.total.state is DriftState.DRIFTED,
            adaptive=adaptive,
            engine=engine if engine in _ENGINES else "",
            method=report.method or "",
        )
    )


def words_of(explanation: Explanation) -> Words:
    """The explanation as lines."""
    named = explanation.outcome is Outcome.NAMED
    lines = []
    for ranked in explanation.candidates[: 1 if named else 2]:
        lines += [f"for: {reason.words}" for reason in ranked.evidence_for]
        lines += [f"against: {reason.words}" for reason in ranked.evidence_against]
    if not named:
        lines.insert(0, explanation.headline)
    cause = explanation.candidates[0].cause.name if named else ""
    return Words(cause, tuple(lines[:_MAX_LINES]), explanation.next_checks[:4])

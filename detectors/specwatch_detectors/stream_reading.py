"""The words of one stream's monitor: from what it knows to a state with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import DriftState
from specwatch_detectors.window import Window


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a monitor knows at a moment.

    Attributes:
        drafted: end of the last interval with drafts, seconds; None before any.
        recent: the last intervals added up, the newest weighing most.
        mean: accepted tokens per draft of the baseline, or None.
        score: largest evidence over threshold.
        drift: why the stream counts as drifted; empty if it does not.
        testing: what is being tested after a change of the engine; empty if nothing.
        learned: drafts in the baseline.
        smallest: smallest drop that is judged, as a share of acceptance; None while nothing is.
        frozen: the baseline is good enough for all members of the bank.
    """

    drafted: float | None
    recent: Window
    mean: float | None
    score: float
    drift: str
    testing: str
    learned: float
    smallest: float | None
    frozen: bool


def comparison(recent: Window, mean: float | None) -> str:
    """Acceptance length of the last intervals beside the baseline's; `mean` without the bonus token."""
    now = recent.length
    if now is None or mean is None:
        return "no drafts lately"
    share = f" ({(now - 1.0) / mean - 1.0:+.1%} accepted)" if mean else ""
    return f"acceptance length {now:.2f}, baseline {1.0 + mean:.2f}{share}"


def judgement(known: Knowledge, now: float, settings: MonitorSettings) -> tuple[DriftState, str, float | None]:
    """State, reason in one sentence, and score where there is one; silence is no judgement and ends no drift."""
    if known.drafted is None:
        return DriftState.CANNOT_TELL, "no drafts yet", None
    if now - known.drafted > settings.stale_after_s:
        before = f"; before that: drifted, {known.drift}" if known.drift else ""
        return DriftState.CANNOT_TELL, f"no drafts for {now - known.drafted:.0f} s{before}", None
    if known.drift:
        return DriftState.DRIFTED, known.drift, max(1.0, known.score)
    if known.testing:
        return DriftState.CANNOT_TELL, known.testing, None
    return _undrifted(known, settings)


def _undrifted(known: Knowledge, settings: MonitorSettings) -> tuple[DriftState, str, float | None]:
    if known.smallest is None:
        return DriftState.CANNOT_TELL, f"learning the baseline: {known.learned:,.0f} drafts so far", None
    if known.score >= settings.watch_at:
        words = f"evidence for drift is growing: {comparison(known.recent, known.mean)}"
        return DriftState.WATCH, words, known.score
    if known.frozen:
        return DriftState.OK, f"as the baseline: {comparison(known.recent, known.mean)}", known.score
    words = f"as the baseline so far, which is young: drops from {known.smallest:.0%} are seen"
    return DriftState.OK, words, known.score

"""The words of one stream's monitor: from what it knows to a state with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_detectors import chain
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import DriftState
from specwatch_detectors.window import Window

_MOST: Final = 0.5
"""A position is one of the present ones if at least this share of the last drafts had it."""
_UNSEEN: Final = 0.1
"""Share of accepted tokens at positions that cannot be judged, from which that is said."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a monitor knows at a moment.

    Attributes:
        drafted: end of the last interval with drafts, seconds; None before any.
        recent: the last intervals added up, the newest weighing most.
        lengths: acceptance length now and of the baseline, or None while one is unknown.
        score: largest evidence over threshold.
        drift: why the stream counts as drifted; empty if it does not.
        testing: what is being tested after a change of the engine; empty if nothing.
        learned: drafts in the baseline.
        smallest: smallest drop that is judged, as a share of acceptance; None while nothing is.
        frozen: the baseline is good enough for all members of the bank.
        judged: positions that are judged; 0 without positions.
    """

    drafted: float | None
    recent: Window
    lengths: Lengths | None
    score: float
    drift: str
    testing: str
    learned: float
    smallest: float | None
    frozen: bool
    judged: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """Two acceptance lengths that may be compared.

    Attributes:
        now: of the last intervals, bonus token included.
        baseline: of the baseline, for drafts of the same depth.
        over: positions that both are of, where that is not all that one of them has; else 0.
    """

    now: float
    baseline: float
    over: int


def lengths(recent: Window, mean: float | None, q: chain.Chain) -> Lengths | None:
    """Compare acceptance lengths over the positions that both the last drafts and the baseline have.

    Args:
        recent: the last intervals.
        mean: accepted tokens per draft of the baseline, over the positions that are judged.
        q: conditional acceptances of the baseline there; empty without positions.
    """
    now, known = recent.length, len(q)
    if mean is None or now is None:
        return None
    whole = recent.depth() == len(recent.accepted) and _unseen(recent) < _UNSEEN
    present = len(recent.accepted) if whole else recent.depth(_MOST)
    both = min(known, present)
    if not both:
        return None if known and recent.accepted else Lengths(now, 1.0 + mean, 0)
    if whole and both == known == present:
        return Lengths(now, 1.0 + mean, 0)
    cut = both < max(known, present) or not whole
    return Lengths(recent.first(both).length or 1.0, 1.0 + chain.mean_accepted(q[:both]), both if cut else 0)


def _unseen(recent: Window) -> float:
    """Share of accepted tokens at positions that are not counted."""
    return 1.0 - sum(recent.accepted) / recent.accepted_tokens if recent.accepted_tokens > 0.0 else 0.0


def comparison(found: Lengths | None) -> str:
    """Acceptance length of the last intervals beside the baseline's."""
    if found is None:
        return "no drafts lately"
    base = found.baseline - 1.0
    share = f" ({(found.now - 1.0) / base - 1.0:+.1%} accepted)" if base else ""
    over = "" if not found.over else f" over {_positions(1, found.over)}"
    return f"acceptance length {found.now:.2f}, baseline {found.baseline:.2f}{share}{over}"


def _positions(first: int, last: int) -> str:
    return f"position {first}" if first == last else f"positions {first} to {last}"


def _not_judged(known: Knowledge) -> str:
    """What the judgement does not cover, behind a semicolon; empty if it covers all."""
    recent, judged = known.recent, known.judged
    if not judged:
        return ""
    present = recent.depth(_MOST)
    if present > judged:
        verb = "is" if present == judged + 1 else "are"
        return f"; {_positions(judged + 1, present)} {verb} still being learned"
    unseen = _unseen(recent)
    if unseen < _UNSEEN:
        return ""
    return f"; {unseen:.0%} of accepted tokens cannot be judged: drafts differ in depth, uncounted by position"


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
        words = f"evidence for drift is growing: {comparison(known.lengths)}"
        return DriftState.WATCH, words, known.score
    if known.frozen:
        return DriftState.OK, f"as the baseline: {comparison(known.lengths)}{_not_judged(known)}", known.score
    words = f"as the baseline so far, which is young: drops from {known.smallest:.0%} are seen{_not_judged(known)}"
    return DriftState.OK, words, known.score

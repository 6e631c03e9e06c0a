"""Fit of one stream to its history: baseline, design effect, and whether its level stayed where it was.

Design effect: batch means over spans of 12, 60 and 180 intervals, request records where there are any, and batch
means over 2 and 6 hours, which see cycles that no shorter span does. A week has few batches of 6 hours, so the long
spans count with the lower end of their 95 % interval: they widen d only where the data insists. The largest wins;
where a replay shows that less will do, `settled_design.py` takes the largest over the spans in which a test
decides.

Drafts of several depths: an interval whose drafts were shorter counts as one of full depth that lies as many
standard errors from the baseline, so that another number of draft tokens is neither spread nor a change of level.

Level: for every hour as a moment of change, the acceptance before against that after, over its standard error.
The error comes from differences of neighbouring batches (von Neumann 1941), which a step does not widen; a design
effect from the whole history would hide the very change that is looked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from specwatch_detectors import chain
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.design_effect import (
    LEAST_BATCHES,
    PRIOR_INTERVALS,
    SPANS,
    BatchMeans,
    design_effect,
    from_requests,
)
from specwatch_detectors.drift_bank import FINE
from specwatch_detectors.window import NOTHING, Window

LONG_SPANS_S: Final = (7_200.0, 21_600.0)
STEP_SE: Final = 5.0
"""Standard errors from which a change of level is real: some 200 hours are looked at, so 4 would be too few."""
STEP_SHARE: Final = 0.015
"""Change of accepted tokens per draft from which it matters: half of the smallest drop that is watched for."""
DECIDES_NATS: Final = 14.0
"""Evidence at which a test decides: about the threshold of one page in 30 days."""
_BLOCK_S: Final = 3_600.0
_LEAST_SIDE: Final = 0.05

Timed = Sequence[tuple[float, Window]]
Batch = tuple[float, Window]


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level.

    Attributes:
        at: when, epoch seconds, to the hour.
        before: acceptance length before.
        after: acceptance length after.
        errors: the change in standard errors, signed.
    """

    at: float
    before: float
    after: float
    errors: float

    @property
    def share(self) -> float:
        """Change of accepted tokens per draft, relative to before."""
        return (self.after - self.before) / (self.before - 1.0) if self.before > 1.0 else math.inf

    @property
    def real(self) -> bool:
        """Both sure and large enough to matter."""
        return abs(self.errors) >= STEP_SE and abs(self.share) >= STEP_SHARE


@dataclass(frozen=True, slots=True)
class StreamFit:
    """What a history says of one stream.

    Attributes:
        baseline: counts of all its intervals.
        design: long-run design effect, at least 1, without safety factor.
        design_from: the estimator that gave it.
        intervals: with drafts.
        step: its largest change of level, or None where there is too little.
        quick_design: the same over the spans in which a test decides, at least 1; None where none has batches
            enough. `settled_design.py` says when it may be used.
    """

    baseline: Baseline
    design: float
    design_from: str
    intervals: int
    step: Step | None
    quick_design: float | None = None

    def used_design(self, safety: float) -> float:
        """The design effect that a monitor would judge with."""
        return design_effect([self.design], PRIOR_INTERVALS, safety=safety)

    def drafts_needed(self, safety: float, depth: int) -> float:
        """Drafts from which the baseline is good enough for the smallest drop; infinite if nothing is kept."""
        mean = self.baseline.mean_accepted or 0.0
        if mean <= 0.0:
            return math.inf
        needs = min(member.needs for member in FINE)
        return self.used_design(safety) * self.baseline.variance(depth) / (needs * mean) ** 2


def fit(
    windows: Timed, depth: int, interval_s: float, requests: Sequence[tuple[float, float]] = ()
) -> StreamFit | None:
    """Fit one stream; None if it never drafted or accepted all or nothing.

    Args:
        windows: times and windows.
        depth: draft tokens per draft, for engines without positions.
        interval_s: seconds of an interval.
        requests: (drafts, accepted tokens) of single requests of the same traffic.
    """
    used = [(at, window) for at, window in windows if window.drafts > 0.0]
    baseline = Baseline(sum((window for _, window in used), NOTHING))
    variance = baseline.variance(depth)
    if variance <= 0.0:
        return None
    used = _of_full_depth(used, baseline)
    means = BatchMeans()
    for _, window in used:
        means.update(window)
    found = {
        "batch means": means.estimate(variance),
        "request records": from_requests(requests, variance),
        **{
            f"batch means over {span / 3600:g} h": _long(used, span / interval_s, variance) for span in LONG_SPANS_S
        },
    }
    known = {name: value for name, value in found.items() if value is not None}
    best = max(known, key=lambda name: known[name], default="")
    design = max(1.0, known.get(best, 1.0))
    quick = _quick(baseline, depth, means.by_span(variance), len(used), known.get("request records", 1.0))
    return StreamFit(baseline, design, best or "nothing", len(used), _step(used, variance, interval_s), quick)


def _of_full_depth(windows: Timed, baseline: Baseline) -> list[tuple[float, Window]]:
    """The windows with the accepted tokens of drafts of full depth, as far from the baseline as their own."""
    q = baseline.q
    means = [chain.mean_accepted(q[:depth]) for depth in range(len(q) + 1)]
    widths = [math.sqrt(chain.variance(q[:depth])) for depth in range(len(q) + 1)]
    found = []
    for at, window in windows:
        depth = window.depth()
        if not window.accepted or depth == len(q):
            found.append((at, window))
        elif depth:
            surplus = window.first(depth).accepted_tokens - window.drafts * means[depth]
            wide = surplus * widths[-1] / widths[depth]
            found.append((at, Window(window.drafts, accepted_tokens=window.drafts * means[-1] + wide)))
    return found


def _quick(
    baseline: Baseline, depth: int, estimates: Mapping[int, float], intervals: int, least: float
) -> float | None:
    """The largest design effect over the spans in which a test decides; the shortest span always counts."""
    if not estimates:
        return None
    before = baseline.q or chain.geometric(baseline.mean_accepted or 0.0, depth)
    smallest = max(member.ratio for member in FINE)
    drafts = baseline.counts.drafts / intervals
    nats = drafts * chain.information([smallest * value for value in before], before)
    shortest = min(estimates)
    return max(
        1.0, least, *(d for span, d in estimates.items() if span == shortest or span <= DECIDES_NATS * d / nats)
    )


def batches(windows: Timed, span: int) -> list[Batch]:
    """Every `span` windows in a row added up, with the time of the last; a rest is left out."""
    found = []
    for start in range(0, len(windows) - span + 1, span):
        total = NOTHING
        for _, window in windows[start : start + span]:
            total += window
        found.append((windows[start + span - 1][0], total))
    return found


def _long(windows: Timed, span: float, variance: float) -> float | None:
    """Lower end of the 95 % interval of batch means over a long span."""
    added = batches(windows, max(1, round(span)))
    if round(span) <= max(SPANS) or len(added) < LEAST_BATCHES:
        return None
    residuals = _residuals(added, variance)
    estimate = sum(value**2 for value in residuals) / (len(added) - 1)
    return estimate / (1.0 + 2.0 * math.sqrt(2.0 / (len(added) - 1)))


def _residuals(added: Sequence[Batch], variance: float) -> list[float]:
    """(A - m N) / sqrt(v N) per batch: variance d."""
    mean = sum(total.accepted_tokens for _, total in added) / sum(total.drafts for _, total in added)
    return [
        (total.accepted_tokens - mean * total.drafts) / math.sqrt(variance * total.drafts) for _, total in added
    ]


def _local_design(windows: Timed, variance: float) -> float | None:
    """Design effect from differences of neighbouring batches, the largest over the spans."""
    found = []
    for span in SPANS:
        added = batches(windows, span)
        if len(added) >= LEAST_BATCHES:
            pairs = list(pairwise(_residuals(added, variance)))
            found.append(sum((later - earlier) ** 2 for earlier, later in pairs) / (2.0 * len(pairs)))
    return max(found, default=None)


def _step(windows: Timed, variance: float, interval_s: float) -> Step | None:
    local = _local_design(windows, variance)
    if local is None:
        return None
    blocks = batches(windows, max(1, round(_BLOCK_S / interval_s)))
    whole = sum(total.drafts for _, total in blocks)
    kept = sum(total.accepted_tokens for _, total in blocks)
    drafts = accepted = 0.0
    best: Step | None = None
    for at, total in blocks[:-1]:
        drafts += total.drafts
        accepted += total.accepted_tokens
        left = whole - drafts
        if min(drafts, left) < _LEAST_SIDE * whole:
            continue
        before, after = accepted / drafts, (kept - accepted) / left
        error = math.sqrt(max(1.0, local) * variance * (1.0 / drafts + 1.0 / left))
        errors = (after - before) / error
        if best is None or abs(errors) > abs(best.errors):
            best = Step(at, 1.0 + before, 1.0 + after, errors)
    return best

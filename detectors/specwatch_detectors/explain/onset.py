"""When acceptance fell, and whether it fell in one step or slowly.

Onset: the moment that makes two different chains before and after it most likely (generalised likelihood ratio):

    G(t) = (1/d) sum_j [ n0 kl(q0_j || q_j) + n1 kl(q1_j || q_j) ],   q of both spans pooled, q0 before t, q1 after

The largest G over t where acceptance is lower after than before; under 8 nats there is none. 8 nats leave about one
chance in 3,000 for each moment tried; moments near each other are nearly the same test.

Step or ramp: the best step and the best straight line down are both fitted to accepted tokens per draft, weighted
with N / (v d); one of them must fit better by 6 (3 nats) to be believed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_detectors.chain import divergence
from specwatch_detectors.explain.comparison import draft_variance, mean
from specwatch_detectors.explain.evidence import Course
from specwatch_detectors.window import NOTHING, Window

LEAST_NATS: Final = 8.0
_BETTER: Final = 6.0
_MOST_BINS: Final = 120
_LEAST_BINS: Final = 8


@dataclass(frozen=True, slots=True)
class Onset:
    """Where a series breaks.

    Attributes:
        index: of the first window after the change.
        nats: evidence for the change.
    """

    index: int
    nats: float


def find_onset(series: Sequence[Window], design: float) -> Onset | None:
    """The most likely moment of a fall, or None if there is no clear one.

    Args:
        series: windows in order of time.
        design: design effect.
    """
    sums = [NOTHING]
    for window in series:
        sums.append(sums[-1] + window)
    whole = sums[-1]
    best: Onset | None = None
    for index in range(1, len(series)):
        before, after = sums[index], _without(whole, sums[index])
        old, new = mean(before), mean(after)
        if old is None or new is None or new >= old:
            continue
        nats = _gain(before, after, whole) / design
        if nats >= LEAST_NATS and (best is None or nats > best.nats):
            best = Onset(index, nats)
    return best


def _without(whole: Window, part: Window) -> Window:
    def less(left: Sequence[float], right: Sequence[float]) -> tuple[float, ...]:
        return tuple(max(0.0, a - (right[j] if j < len(right) else 0.0)) for j, a in enumerate(left))

    return Window(
        max(0.0, whole.drafts - part.drafts),
        less(whole.accepted, part.accepted),
        less(whole.trials, part.trials),
        max(0.0, whole.accepted_tokens - part.accepted_tokens),
        whole.censored,
    )


def _gain(before: Window, after: Window, whole: Window) -> float:
    if not whole.accepted:
        old, new = mean(before) or 0.0, mean(after) or 0.0
        weight = before.drafts * after.drafts / whole.drafts
        return weight * (new - old) ** 2 / (2.0 * draft_variance(whole))
    found = 0.0
    for index, tried in enumerate(whole.trials):
        if tried <= 0.0:
            break
        pooled = whole.accepted[index] / tried
        for side in (before, after):
            own = side.trials[index] if index < len(side.trials) else 0.0
            if own > 0.0:
                found += own * divergence(side.accepted[index] / own, pooled)
    return found


def course(series: Sequence[Window], design: float) -> tuple[Course, int] | None:
    """Step or ramp, with the index of the window where it began; None if neither fits better.

    Args:
        series: windows in order of time, with quiet time before the change in them.
        design: design effect.
    """
    bins, size = _binned(series)
    points = [(mean(window) or 0.0, window.drafts / (design * draft_variance(window))) for window in bins]
    if len(points) < _LEAST_BINS:
        return None
    step, step_at = min((_step_misfit(points, at), at) for at in range(1, len(points)))
    ramp, ramp_at = min((_ramp_misfit(points, at), at) for at in range(1, len(points) - 2))
    if abs(step - ramp) < _BETTER:
        return None
    kind, at = (Course.STEP, step_at) if step < ramp else (Course.RAMP, ramp_at)
    return kind, at * size


def _binned(series: Sequence[Window]) -> tuple[list[Window], int]:
    size = math.ceil(len(series) / _MOST_BINS) or 1
    bins = [sum(series[at : at + size], start=NOTHING) for at in range(0, len(series), size)]
    return [window for window in bins if window.drafts > 0.0], size


Points = Sequence[tuple[float, float]]


def _step_misfit(points: Points, at: int) -> float:
    return _line_misfit(points, [0.0 if index < at else 1.0 for index in range(len(points))])


def _ramp_misfit(points: Points, at: int) -> float:
    return _line_misfit(points, [max(0.0, float(index - at)) for index in range(len(points))])


def _line_misfit(points: Points, x: Sequence[float]) -> float:
    """Weighted squares left by y = a + b x; infinite for a line that goes up."""
    total = sum(w for _, w in points)
    centre = sum(w * v for (_, w), v in zip(points, x, strict=True)) / total
    height = sum(w * y for y, w in points) / total
    width = sum(w * (v - centre) ** 2 for (_, w), v in zip(points, x, strict=True))
    if width <= 0.0:
        return math.inf
    slope = sum(w * (v - centre) * (y - height) for (y, w), v in zip(points, x, strict=True)) / width
    if slope > 0.0:
        return math.inf
    return sum(w * (y - height - slope * (v - centre)) ** 2 for (y, w), v in zip(points, x, strict=True))

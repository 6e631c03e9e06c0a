"""How many draft steps a line of vLLM's log stands for: the line does not say, but its rounded numbers do.

With n draft steps, A accepted and D draft tokens, K positions: the printed length is 1 + A / n (vLLM 0.8.5: A / n),
the printed rates p_j are whole numbers over n and sum to A / n, and D = K * n unless drafts are shorter than K.
n = D / K is used where the length confirms it. Otherwise K varies or drafts are trimmed, and n is known only if
exactly one whole number fits the length and every position.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

MAX_DEPTH = 64
MAX_TRIALS = 5000
_LENGTH_ERROR = 0.005 + 1e-9
_POSITION_ERROR = 0.0005 + 1e-9


class Interval(NamedTuple):
    """A closed interval."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """True if the value lies in it."""
        return self.low <= value <= self.high

    def meets(self, other: Interval) -> bool:
        """True if the two have a value in common."""
        return self.low <= other.high and other.low <= self.high

    def common(self, other: Interval) -> Interval:
        """The values that both have; both must meet."""
        return Interval(max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True, slots=True)
class Printed:
    """Numbers of one line with both counts.

    Attributes:
        accepted: A.
        drafted: D, at least 1 and at least A.
        length: as printed, two decimals, or None (before 0.8.5).
        positions: as printed, three decimals.
        positions_cut: True if the list is known to be cut.
    """

    accepted: int
    drafted: int
    length: float | None
    positions: tuple[float, ...] = ()
    positions_cut: bool = False


@dataclass(frozen=True, slots=True)
class DraftSteps:
    """What follows from a line.

    Attributes:
        drafts: n, or None if several numbers fit.
        estimate: n to the precision of the printed length, or None.
        depth: K, or None.
        bare: True if the printed length lacks the bonus token (0.8.5).
        agrees: False if D / K contradicts the length: K varies, or drafts are trimmed.
        whole: True if all positions are there.
    """

    drafts: int | None = None
    estimate: float | None = None
    depth: int | None = None
    bare: bool = False
    agrees: bool = True
    whole: bool = False


def solve(printed: Printed, depth_hint: int | None = None) -> DraftSteps:
    """Find the draft steps of a line.

    Args:
        printed: the line's numbers.
        depth_hint: K as start-up or earlier lines of the same engine say.
    """
    if printed.length is None:
        return _without_length(printed, depth_hint)
    found = _shape(printed, printed.length, depth_hint)
    if found.depth is None:
        estimate = _estimate(printed, found.share)
        return DraftSteps(_only(printed, found, MAX_DEPTH), estimate, None, found.bare, agrees=False)
    steps, rest = divmod(printed.drafted, found.depth)
    agrees = found.share.holds(printed.accepted * found.depth / printed.drafted)
    if agrees and not rest and _fits(steps, printed.accepted, printed.positions if found.whole else ()):
        return DraftSteps(steps, float(steps), found.depth, found.bare, whole=found.whole)
    estimate = printed.drafted / found.depth if agrees else _estimate(printed, found.share)
    return DraftSteps(_only(printed, found, found.depth), estimate, found.depth, found.bare, agrees, found.whole)


class _Shape(NamedTuple):
    """Interval of A / n, K, and how the line is to be read."""

    share: Interval
    depth: int | None
    bare: bool
    whole: bool


def _shape(printed: Printed, length: float, hint: int | None) -> _Shape:
    readings = [(False, _around(length - 1.0, _LENGTH_ERROR)), (True, _around(length, _LENGTH_ERROR))]
    if printed.positions and not printed.positions_cut:
        told = _around(sum(printed.positions), len(printed.positions) * _POSITION_ERROR)
        for bare, share in readings:
            if share.meets(told):
                return _Shape(share.common(told), len(printed.positions), bare, whole=True)
    for bare, share in readings:
        depth = _depth(printed, share, hint)
        if depth is not None:
            return _Shape(share, depth, bare, whole=False)
    bare, share = readings[1] if length < 1.0 - _LENGTH_ERROR else readings[0]
    return _Shape(share, None, bare, whole=False)


def _depth(printed: Printed, share: Interval, hint: int | None) -> int | None:
    """K of a line whose positions are cut: the one that makes D / K a whole number that fits the length."""
    fewest = max(1, len(printed.positions) + printed.positions_cut)
    fitting = [
        depth
        for depth in range(fewest, MAX_DEPTH + 1)
        if printed.drafted % depth == 0 and share.holds(printed.accepted * depth / printed.drafted)
    ]
    if hint in fitting:
        return hint
    return fitting[0] if len(fitting) == 1 else None


def _around(value: float, error: float) -> Interval:
    return Interval(value - error, value + error)


def _without_length(printed: Printed, hint: int | None) -> DraftSteps:
    """Lines before 0.8.5: only a known K tells, and only if no draft was trimmed."""
    if hint is None or printed.drafted % hint or printed.accepted > printed.drafted:
        return DraftSteps(depth=hint)
    return DraftSteps(printed.drafted // hint, printed.drafted / hint, hint)


def _estimate(printed: Printed, share: Interval) -> float | None:
    middle = (max(share.low, 0.0) + share.high) / 2.0
    return printed.accepted / middle if printed.accepted and middle > 0 else None


def _only(printed: Printed, shape: _Shape, depth: int) -> int | None:
    """The whole number of steps that fits, if there is exactly one."""
    if not printed.accepted or shape.share.low <= 0:
        return None
    low = max(printed.accepted / shape.share.high, printed.drafted / depth)
    high = min(printed.accepted / shape.share.low, float(printed.drafted))
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    if last - first > MAX_TRIALS:
        return None
    positions = printed.positions if shape.whole else ()
    fitting = [steps for steps in range(first, last + 1) if _fits(steps, printed.accepted, positions)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(steps: int, accepted: int, positions: Iterable[float]) -> bool:
    """True if every printed position is a whole number over `steps`, and the whole numbers can sum to A."""
    fewest = most = 0
    seen = False
    for rate in positions:
        seen = True
        least = math.ceil(max(0.0, (rate - _POSITION_ERROR) * steps))
        greatest = math.floor(min(1.0, rate + _POSITION_ERROR) * steps + 1e-9)
        if least > greatest:
            return False
        fewest += least
        most += greatest
    return not seen or fewest <= accepted <= most

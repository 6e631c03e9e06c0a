"""Which positions of the draft changed: the shape of ln(q after / q before) over positions.

    y_j = ln(q1_j / q0_j) = a + b (j - 1),   by least squares weighted with 1 / var(y_j)
    var(y_j) = d [ (1 - q1) / (n1 q1) + (1 - q0) / (n0 q0) ]

A fall that is alike at every position (a < 0, b about 0) is what a draft does that stands further from its target.
A sound first position with a collapse behind it (a about 0, b << 0) points at the draft's own chain: KV cache or
hidden states. Only the first position: its first step starts from a wrong state. Nothing at all accepted: wiring.

The shape says what broke, not who: a changed mix of traffic can have the shape of a worse draft (measured on nine
published classes of one pair, to 0.006 at all of 8 positions). Positions are taken as uncorrelated, which
conditional acceptances of one chain are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.window import Window

_DEAD: Final = 0.1
"""A position is dead when it keeps less than this part of what it kept before."""
_NEARLY_DEAD: Final = 0.35
_LEAST_TRIALS: Final = 20.0
_SMALL: Final = 0.01


class ShapeKind(StrEnum):
    """What the positions say."""

    NO_CHANGE = "no change at any position"
    UNIFORM = "all positions alike"
    DEEPER = "deeper positions worse"
    FLAT_THEN_ZERO = "sound up to a position, then nothing"
    FIRST_ONLY = "only the first position"
    ALL_ZERO = "hardly anything accepted from the first position on"
    OTHER = "no simple shape"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LogRatio:
    """One position's ln(q1 / q0) with its standard error, position counted from 1."""

    position: int
    value: float
    error: float


@dataclass(frozen=True, slots=True)
class Shape:
    """The fitted line and what it looks like.

    Attributes:
        a: ln ratio at position 1 by the line; None without positions.
        a_error: its standard error.
        b: change of the ln ratio from one position to the next; None with one position.
        b_error: its standard error.
        ratios: what was fitted, by position.
        kind: what it looks like.
    """

    a: float | None
    a_error: float
    b: float | None
    b_error: float
    ratios: tuple[LogRatio, ...]
    kind: ShapeKind


def fit(comparisons: Iterable[Comparison], design: float) -> Shape:
    """Fit the shape of one stream, or the common one of several classes (so that their mix has no part in it).

    Args:
        comparisons: one stream, or the classes of one.
        design: design effect d >= 1.
    """
    streams = [pair for pair in comparisons if pair.both]
    ratios = _ratios(streams, design)
    a, a_error, b, b_error = _line(ratios)
    dead = next((row.position for row in ratios if _dead(streams, row.position - 1, design)), None)
    return Shape(a, a_error, b, b_error, ratios, _kind(streams, ratios, (a or 0.0, b or 0.0, b_error), dead))


def _ratios(streams: Sequence[Comparison], design: float) -> tuple[LogRatio, ...]:
    depth = max((_depth(pair) for pair in streams), default=0)
    found = []
    for index in range(depth):
        rows = [row for pair in streams if (row := _ratio(pair, index, design)) is not None]
        if not rows:
            break
        weight = sum(1.0 / row.error**2 for row in rows)
        value = sum(row.value / row.error**2 for row in rows) / weight
        found.append(LogRatio(index + 1, value, 1.0 / math.sqrt(weight)))
    return tuple(found)


def _depth(pair: Comparison) -> int:
    return min(len(pair.before.accepted), len(pair.after.accepted))


def _ratio(pair: Comparison, index: int, design: float) -> LogRatio | None:
    """Half a token is added to each count, so that 0 of n has a logarithm."""
    if index >= _depth(pair):
        return None
    least = min(side.trials[index] for side in (pair.before, pair.after))
    if least < _LEAST_TRIALS:
        return None
    q0, q1 = _kept(pair.before, index), _kept(pair.after, index)
    variance = (1.0 - q1) / (pair.after.trials[index] * q1) + (1.0 - q0) / (pair.before.trials[index] * q0)
    return LogRatio(index + 1, math.log(q1 / q0), math.sqrt(design * variance))


def _kept(window: Window, index: int) -> float:
    return (min(window.accepted[index], window.trials[index]) + 0.5) / (window.trials[index] + 1.0)


def _line(ratios: Sequence[LogRatio]) -> tuple[float | None, float, float | None, float]:
    if not ratios:
        return None, math.inf, None, math.inf
    weights = [1.0 / row.error**2 for row in ratios]
    steps = [float(row.position - 1) for row in ratios]
    total = sum(weights)
    centre = sum(w * x for w, x in zip(weights, steps, strict=True)) / total
    height = sum(w * row.value for w, row in zip(weights, ratios, strict=True)) / total
    width = sum(w * (x - centre) ** 2 for w, x in zip(weights, steps, strict=True))
    if width <= 0.0:
        return height, 1.0 / math.sqrt(total), None, math.inf
    rows = zip(weights, steps, ratios, strict=True)
    b = sum(w * (x - centre) * (row.value - height) for w, x, row in rows) / width
    return height - b * centre, math.sqrt(1.0 / total + centre**2 / width), b, 1.0 / math.sqrt(width)


def _kind(
    streams: Sequence[Comparison],
    ratios: Sequence[LogRatio],
    line: tuple[float, float, float],
    dead: int | None,
) -> ShapeKind:
    if dead == 1:
        return ShapeKind.ALL_ZERO
    if not ratios:
        return ShapeKind.UNKNOWN
    if dead is not None and all(row.value > math.log(0.8) for row in ratios[: dead - 1]):
        return ShapeKind.FLAT_THEN_ZERO
    if all(abs(row.value) < max(2.0 * row.error, _SMALL) for row in ratios):
        sharp = ratios[0].error < 2.0 * _SMALL
        return ShapeKind.NO_CHANGE if sharp else ShapeKind.UNKNOWN
    if len(ratios) == 1:
        return ShapeKind.UNKNOWN if _positions_lost(streams) else ShapeKind.OTHER
    return _sloped(ratios, line)


def _dead(streams: Sequence[Comparison], index: int, design: float) -> bool:
    """Kept tokens are a Poisson count over d: with 3 more of them it would still be far from what it was."""
    pairs = [pair for pair in streams if index < _depth(pair)]
    kept = sum(pair.after.accepted[index] for pair in pairs)
    expected = sum(pair.after.trials[index] * _kept(pair.before, index) for pair in pairs)
    return kept < _DEAD * expected and kept + 3.0 * design < _NEARLY_DEAD * expected


def _positions_lost(streams: Sequence[Comparison]) -> bool:
    return any(pair.before.censored or pair.after.censored for pair in streams)


def _sloped(ratios: Sequence[LogRatio], line: tuple[float, float, float]) -> ShapeKind:
    first, rest = ratios[0], _pooled(ratios[1:])
    if first.value < -3.0 * first.error and abs(rest.value) < max(2.0 * rest.error, 0.2 * abs(first.value)):
        clear = 2.0 * rest.error < 0.5 * abs(first.value)
        return ShapeKind.FIRST_ONLY if clear else ShapeKind.OTHER
    height, slope, slope_error = line
    span = slope * (len(ratios) - 1)
    last = height + span
    if slope < -3.0 * slope_error and height > 0.35 * last:
        return ShapeKind.DEEPER
    if min(first.value, rest.value) < 0.0 and height < 0.0 and last < 0.5 * height:
        return ShapeKind.UNIFORM if abs(span) < max(1.5 * abs(height), 2.0 * slope_error) else ShapeKind.OTHER
    return ShapeKind.OTHER


def _pooled(ratios: Sequence[LogRatio]) -> LogRatio:
    weight = sum(1.0 / row.error**2 for row in ratios)
    return LogRatio(0, sum(row.value / row.error**2 for row in ratios) / weight, 1.0 / math.sqrt(weight))

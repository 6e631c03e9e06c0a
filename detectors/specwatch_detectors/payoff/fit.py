"""Least squares for the constants of a step: seconds over tokens computed and KV tokens read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from specwatch_detectors.payoff.linear_steps import StepConstants

LEAST_ROWS: Final = 4
# Columns scaled to 1: below this pivot two of them say the same.
_SINGULAR: Final = 1e-9


class StepRow(NamedTuple):
    """One step, or the mean of steps that carried the same.

    Attributes:
        tokens: computed by the target in the step.
        kv_tokens: read from the KV cache.
        seconds: of the whole step.
        forward_seconds: of the target's forward pass alone; None where only the step was timed.
    """

    tokens: float
    kv_tokens: float
    seconds: float
    forward_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """The constants and how well they fit.

    Attributes:
        constants: c_f, c_c, c_kv and o.
        relative_error: root mean square of the residuals over the mean step time, degrees of freedom counted.
        overhead_known: False if o could not be told from c_f, which then holds both.
    """

    constants: StepConstants
    relative_error: float
    overhead_known: bool


def fit_constants(rows: Iterable[StepRow]) -> Fit:
    """Fit T = c_f + c_c tokens + c_kv KV + o by least squares.

    Step times alone give c_f + o as one number, reported as c_f with o = 0: no data of that kind tells the two
    apart, and rho of a drafter with weights needs only the sum. With the forward pass timed too, o is the mean of
    the difference and the other three come from the forward times.

    Raises:
        ValueError: fewer than 4 rows, a value that is no positive number, rows that do not vary in both tokens and
            KV tokens independently, or constants that come out negative.
    """
    used = list(rows)
    if len(used) < LEAST_ROWS:
        raise ValueError(f"{len(used)} steps are too few for a fit: {LEAST_ROWS} or more are needed")
    if not all(math.isfinite(value) and value >= 0.0 for row in used for value in row if value is not None):
        raise ValueError("tokens, KV tokens and seconds must be numbers and not negative")
    forwards = [row.forward_seconds for row in used if row.forward_seconds is not None]
    known = len(forwards) == len(used)
    targets = forwards if known else [row.seconds for row in used]
    fixed, per_token, per_kv = _least_squares([(1.0, row.tokens, row.kv_tokens) for row in used], targets)
    overhead = sum(row.seconds - part for row, part in zip(used, targets, strict=True)) / len(used)
    constants = StepConstants(fixed, per_token, per_kv, overhead if known else 0.0)
    if min(fixed, per_token, per_kv, constants.overhead) < 0.0:
        raise ValueError("the fit gives a negative constant: the steps hold something else, such as prefill")
    return Fit(constants, _relative_error(constants, used), known)


def _relative_error(constants: StepConstants, rows: Sequence[StepRow]) -> float:
    residuals = sum((row.seconds - constants.step(row.tokens, row.kv_tokens)) ** 2 for row in rows)
    mean = sum(row.seconds for row in rows) / len(rows)
    return math.sqrt(residuals / (len(rows) - 3)) / mean


def _least_squares(columns: Sequence[tuple[float, ...]], targets: Sequence[float]) -> tuple[float, ...]:
    """Normal equations by elimination, columns scaled by their root mean square first."""
    width = len(columns[0])
    scales = [math.sqrt(sum(row[j] ** 2 for row in columns) / len(columns)) for j in range(width)]
    if min(scales) <= 0.0:
        raise ValueError("every step has 0 tokens or 0 KV tokens: nothing to fit a price to")
    scaled = [tuple(value / scale for value, scale in zip(row, scales, strict=True)) for row in columns]
    matrix = [
        [sum(row[i] * row[j] for row in scaled) / len(scaled) for j in range(width)]
        + [sum(row[i] * target for row, target in zip(scaled, targets, strict=True)) / len(scaled)]
        for i in range(width)
    ]
    return tuple(value / scale for value, scale in zip(_eliminate(matrix), scales, strict=True))


def _eliminate(matrix: list[list[float]]) -> list[float]:
    """Solve a small system in place; the last column is the right-hand side."""
    size = len(matrix)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(matrix[row][column]))
        if abs(matrix[pivot][column]) < _SINGULAR:
            raise ValueError("tokens and KV tokens rise together in these steps: vary batch and context separately")
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        for row in range(size):
            if row != column:
                factor = matrix[row][column] / matrix[column][column]
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[column], strict=True)]
    return [matrix[row][size] / matrix[row][row] for row in range(size)]

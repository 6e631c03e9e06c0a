"""Acceptance by position against routing noise, from the cells of the experiment."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell_file import read_cell
from specwatch_bench.cell_run import OK

_FOLDER = "cells"
# Student's t, two-sided 95 %, by degrees of freedom from 1.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T_LARGE = 1.96 + 2.5 / len(_T)  # above the true value from 11 degrees on


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over repetitions and half the width of its 95 % interval, None with fewer than two."""

    value: float
    half: float | None

    def __str__(self) -> str:
        return f"{self.value:.3f}" + ("" if self.half is None else f" ± {self.half:.3f}")


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """What was measured at one level.

    Attributes:
        level: standard deviation of the noise over that of a token's router logits.
        repeats: measurements.
        drafts: draft steps in all of them.
        length: mean acceptance length, bonus token included.
        positions: probability that position j is accepted, unconditional.
    """

    level: float
    repeats: int
    drafts: int
    length: Mean
    positions: tuple[Mean, ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "noise": self.level,
            "repeats": self.repeats,
            "drafts": self.drafts,
            "mean_acceptance_length": [self.length.value, self.length.half],
            "per_position": [[mean.value, mean.half] for mean in self.positions],
        }


def mean_of(values: Sequence[float]) -> Mean:
    """Mean and Student's interval of independent measurements."""
    count, mean = len(values), statistics.fmean(values)
    if count < 2:
        return Mean(mean, None)
    quantile = _T[count - 2] if count - 2 < len(_T) else _T_LARGE
    return Mean(mean, quantile * statistics.stdev(values) / count**0.5)


def noise_rows(results: Path) -> list[NoiseRow]:
    """Rows by rising noise.

    Args:
        results: folder of the experiment.

    Raises:
        BenchError: it holds no measured cell.
    """
    by_level: dict[float, list[dict[str, Any]]] = {}
    for level, end in _measured(results):
        by_level.setdefault(level, []).append(end)
    if not by_level:
        raise BenchError(f"{results}: no measured cell with drafts in it")
    return [_row(level, ends) for level, ends in sorted(by_level.items())]


def _measured(results: Path) -> Iterator[tuple[float, dict[str, Any]]]:
    for path in sorted((results / _FOLDER).glob("noise-*.jsonl.gz")):
        try:
            head, *_, end = read_cell(path)
        except ValueError as error:
            raise BenchError(str(error)) from error
        if end.get("outcome") == OK and end.get("drafts"):
            yield float(head["engine"]["name"].removeprefix("noise-")), end


def _row(level: float, ends: Sequence[dict[str, Any]]) -> NoiseRow:
    depth = min(len(end["per_position"]) for end in ends)
    return NoiseRow(
        level=level,
        repeats=len(ends),
        drafts=round(sum(end["drafts"] for end in ends)),
        length=mean_of([end["acceptance_length"] for end in ends]),
        positions=tuple(mean_of([end["per_position"][at] for end in ends]) for at in range(depth)),
    )


def table_lines(rows: Sequence[NoiseRow]) -> list[str]:
    """The table, in Markdown."""
    depth = max(len(row.positions) for row in rows)
    heads = ["noise", "tau", *(f"position {at}" for at in range(1, depth + 1)), "drafts", "runs"]
    lines = [_line(heads), _line(["---:"] * len(heads))]
    for row in rows:
        positions = [str(mean) for mean in row.positions]
        positions += ["-"] * (depth - len(positions))
        lines.append(_line([f"{row.level:g}", str(row.length), *positions, f"{row.drafts:,}", str(row.repeats)]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

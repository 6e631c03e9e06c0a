"""Acceptance by position against routing noise, from the cells of the experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell_file import read_cell
from specwatch_bench.cell_run import OK
from specwatch_bench.student_mean import Mean, mean_of

_FOLDER = "cells"


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


def noise_rows(results: Path) -> list[NoiseRow]:
    """Rows by rising noise.

    Args:
        results: folder of the experiment.

    Raises:
        BenchError: it holds no measured cell, or cells of more than one experiment.
    """
    by_level: dict[float, list[dict[str, Any]]] = {}
    setups = set()
    for level, setup, end in _measured(results):
        by_level.setdefault(level, []).append(end)
        setups.add(setup)
    if not by_level:
        raise BenchError(f"{results}: no measured cell with drafts in it")
    if len(setups) > 1:
        raise BenchError(f"{results}: holds {' and '.join(sorted(setups))}; give each a folder of its own (--out)")
    return [_row(level, ends) for level, ends in sorted(by_level.items())]


def _measured(results: Path) -> Iterator[tuple[float, str, dict[str, Any]]]:
    for path in sorted((results / _FOLDER).glob("noise-*.jsonl.gz")):
        try:
            head, *_, end = read_cell(path)
        except ValueError as error:
            raise BenchError(str(error)) from error
        if end.get("outcome") == OK and end.get("drafts"):
            yield float(head["engine"]["name"].removeprefix("noise-")), _setup(head), end


def _setup(head: Mapping[str, Any]) -> str:
    """What all cells of one experiment have alike, in words."""
    engine = head["engine"]
    tokens, temperature = engine["speculative"]["num_speculative_tokens"], engine["body"]["temperature"]
    return f"{head['target']} at K = {tokens}, batch {head['level']['concurrency']}, temperature {temperature:g}"


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

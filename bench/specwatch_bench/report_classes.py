"""Speed-up by traffic class: published acceptance on measured step times.

A class changes which draft tokens are accepted and not what a step costs, so tokens per request and step of a class
are 1 + d * (p_1 + ... + p_K), with d the share of steps that had a draft, and S follows from the step times of the
batch (`gained`). Where the class was measured at that batch too, the measured quotient stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specwatch_bench.profile_cell import OFF
from specwatch_bench.profile_table import Range
from specwatch_bench.report_cell import CellReport
from specwatch_bench.report_draws import interval
from specwatch_bench.report_target import Target
from specwatch_bench.report_verdict import gained


@dataclass(frozen=True, slots=True)
class ClassSpeedup:
    """One drafter at one batch size under one class.

    Attributes:
        label: the drafter.
        traffic_class: the class.
        batch: requests in flight.
        length: tokens per request and step.
        range: S from step times.
        measured: quotient of tokens per second where both cells were measured; None elsewhere. The cell without
            speculation is that of the shared data set: classes differ in acceptance only.
    """

    label: str
    traffic_class: str
    batch: int
    length: float
    range: Range
    measured: Range | None


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One drafter under one class.

    Attributes:
        label: the drafter.
        traffic_class: the class.
        given: probability per position that was set, or empty when the draft's own acceptance was measured.
        seen: share per position by the engine's counters, over all its cells; None where it did not count, empty
            where it counts no positions.
        counted: tokens per draft step by the engine's counters.
        mean_only: the engine was told the mean length of `given` and not its positions.
        drafts: behind `seen`.
        source: whose values were set.
    """

    label: str
    traffic_class: str
    given: tuple[float, ...]
    seen: tuple[float | None, ...]
    counted: float
    mean_only: bool
    drafts: float
    source: str

    @property
    def length(self) -> float:
        """Tokens per draft step that was set, or counted."""
        return 1.0 + sum(self.given) if self.given else self.counted


def class_speedups(target: Target) -> Iterator[ClassSpeedup]:
    """Every drafter, class and batch that has step times and a published acceptance."""
    one_of = {_run(cell): cell for cell in reversed(target.cells) if cell.steps is not None}
    for price in target.table.prices:
        cell = one_of[price.method, price.depth]
        for name, rates in _rates(cell).items():
            length = 1.0 + price.own.share * sum(rates)
            yield ClassSpeedup(
                label=target.label(cell.engine),
                traffic_class=name,
                batch=price.batch,
                length=length,
                range=interval(gained(price, length)),
                measured=_measured(target, cell.engine, name, price.batch),
            )


def _run(cell: CellReport) -> tuple[str, int]:
    return (OFF, 0) if cell.steps is None else (cell.steps.method, cell.steps.depth)


def _rates(cell: CellReport) -> Mapping[str, Sequence[float]]:
    acceptance = cell.head["engine"].get("acceptance") or {}
    return dict(acceptance.get("rates", {}))


def _measured(target: Target, engine: str, traffic_class: str, batch: int) -> Range | None:
    plain = next((c for c in target.published if c.batch == batch and _run(c)[0] == OFF), None)
    wanted = (engine, batch, traffic_class)
    own = next(
        (c for c in target.published if (c.engine, c.batch, c.head["dataset"]["traffic_class"]) == wanted), None
    )
    return None if plain is None or own is None else interval(own.tok_s / plain.tok_s)


def acceptance_of(target: Target) -> Iterator[Acceptance]:
    """Per drafter and class, in the order of the cells."""
    grouped: dict[tuple[str, str], list[CellReport]] = {}
    for cell in target.cells:
        if cell.end.get("drafts"):
            grouped.setdefault((cell.engine, str(cell.head["dataset"]["traffic_class"])), []).append(cell)
    for (engine, name), cells in grouped.items():
        drafts = sum(float(cell.end["drafts"]) for cell in cells)
        depth = max(len(cell.end.get("per_position") or ()) for cell in cells)
        mean_only = cells[0].head["engine"]["kind"] == "sglang"
        source = (cells[0].head["engine"].get("acceptance") or {}).get("source", "")
        given = tuple(cells[0].head.get("synthetic_acceptance") or ())
        seen = tuple(_pooled(cells, position) for position in range(depth))
        counted = sum(float(cell.end["drafts"]) * _length(cell.end) for cell in cells) / drafts
        yield Acceptance(target.label(engine), name, given, seen, counted, mean_only, drafts, str(source))


def _length(end: Mapping[str, Any]) -> float:
    """Tokens per draft step of a cell: as counted, else by its positions."""
    said = end.get("acceptance_length")
    return 1.0 + sum(one or 0.0 for one in end.get("per_position") or ()) if said is None else float(said)


def _pooled(cells: Sequence[CellReport], position: int) -> float | None:
    known = [
        (float(cell.end["drafts"]), shares[position])
        for cell in cells
        if position < len(shares := cell.end.get("per_position") or ()) and shares[position] is not None
    ]
    drafts = sum(weight for weight, _ in known)
    return sum(weight * float(share) for weight, share in known) / drafts if drafts else None

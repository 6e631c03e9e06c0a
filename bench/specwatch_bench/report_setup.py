"""What cells must have alike to be set beside each other: engine, version, tool and card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specwatch_bench.profile_table import engine_of, gpus_of
from specwatch_bench.report_cell import CellReport


@dataclass(frozen=True, slots=True)
class Setup:
    """Where a cell ran.

    Attributes:
        engine: with its version; the tool of an imported one.
        card: GPUs of one engine and their name, empty where nobody saw any.
    """

    engine: str
    card: str

    @property
    def words(self) -> str:
        """For a heading."""
        return ", ".join(part for part in (self.engine, self.card) if part)


def setups_of(cells: Sequence[CellReport]) -> Mapping[Setup, list[CellReport]]:
    """Cells by where they ran, the setup with the most cells first.

    A cell that gave no figures may not know its engine's version or card: it stands with the first setup.
    """
    found: dict[Setup, list[CellReport]] = {}
    for cell in cells:
        found.setdefault(_setup(cell), []).append(cell)
    known = {setup: own for setup, own in found.items() if any(not cell.refused for cell in own)} or found
    ordered = dict(sorted(known.items(), key=lambda item: (-len(item[1]), item[0].words)))
    first = next(iter(ordered))
    for setup, own in found.items():
        if setup not in ordered:
            ordered[first] += own
    return ordered


def _setup(cell: CellReport) -> Setup:
    kind = str(cell.head["engine"]["kind"])
    engine = f"imported from {cell.head.get('tool')}" if kind == "imported" else engine_of(cell.head)
    return Setup(engine, f"{gpus_of(cell.head)} x {cell.card}" if cell.card else "")

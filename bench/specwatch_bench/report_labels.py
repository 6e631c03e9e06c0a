"""What every figure of a report carries, and what only those of one target do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from specwatch_bench.count_words import counted
from specwatch_bench.profile_table import UNKNOWN, gpus_of
from specwatch_bench.report_cell import CellReport
from specwatch_bench.report_target import Target

ELSEWHERE: Final = frozenset({"imported", "url"})
"""Kinds of engines that ran nobody knows where."""


def common_labels(targets: Sequence[Target]) -> list[str]:
    """What holds of all figures: marks that every cell has, how long the runs were, and what they ran on."""
    cells = [cell for target in targets for cell in target.cells]
    marks = [mark for mark, many in _marks(cells).items() if many == len(cells)]
    kinds = {cell.head["engine"].get("kind") for cell in cells}
    host = [] if kinds & ELSEWHERE else ["client and engine on one host"]
    versions = [target.engine_words for target in targets]
    cards = [f"{gpus_of(one.table.head)} x {one.table.gpu}" for one in targets if one.table.gpu != UNKNOWN]
    return list(dict.fromkeys([*marks, _runs(cells), *host, *versions, *cards]))


def own_labels(target: Target) -> str:
    """Marks of one target, with the number of cells where it is not all, and how long its runs were."""
    whole = len(target.cells)
    marks = [
        mark if many == whole else f"{mark} ({many} of {counted(whole, 'cell')})"
        for mark, many in _marks(target.cells).items()
    ]
    return ", ".join([*marks, _runs(target.cells)])


def _marks(cells: Sequence[CellReport]) -> Counter[str]:
    return Counter(str(mark) for cell in cells for mark in dict.fromkeys(cell.head["engine"].get("labels", ())))


def _runs(cells: Sequence[CellReport]) -> str:
    known = [cell for cell in cells if not cell.refused] or cells
    seconds = [float(cell.end.get("seconds") or 0.0) for cell in known]
    repeats = max(int(cell.head["level"].get("repeat", 1)) for cell in cells)
    runs = "one run" if repeats == 1 else f"up to {repeats} runs"
    shortest, longest = f"{min(seconds):.0f}", f"{max(seconds):.0f}"
    return f"{runs} of {shortest if shortest == longest else f'{shortest} to {longest}'} s a level"

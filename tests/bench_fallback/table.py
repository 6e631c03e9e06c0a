"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specwatch_bench.student_mean import mean_of


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def spread(values: Sequence[float], digits: int = 0, unit: str = "") -> str:
    """Mean and half the width of its 95 % interval over the months."""
    found = mean_of(values)
    text = f"{found.value:,.{digits}f}"
    return f"{text}{unit}" if found.half is None else f"{text} ± {found.half:,.{digits}f}{unit}"


def duration(seconds: float) -> str:
    """Seconds as minutes or hours."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"

"""The section about what is not there."""

from __future__ import annotations

from collections.abc import Sequence

from specwatch_bench.report_blocks import Block, Bullets, Section, Table, Text, Words
from specwatch_bench.report_missing import Missing


def missing_section(found: Sequence[Missing], torn: Sequence[str], notes: Sequence[str]) -> Section:
    """Cells that were planned and have not been run, files that cannot be read, and what was never planned."""
    rows: list[list[Words]] = [
        [one.target, one.engine, "all of them" if one.whole else ", ".join(one.cells), str(len(one.cells))]
        for one in found
    ]
    table = Table(("target", "engine", "class and batch", "cells"), rows, words=3)
    blocks: list[Block] = [table] if rows else []
    if torn:
        blocks += [Text("Files that are no whole cells; each counts as missing:"), Bullets(torn)]
    if not blocks:
        blocks = [Text("Every cell that the matrices ask for is there.")]
    return Section("missing", "What is missing", [*blocks, Bullets(notes)] if notes else blocks)

"""The section about an engine that others have measured and this report has not."""

from __future__ import annotations

from collections.abc import Sequence

from specwatch_bench.published_engines import PublishedEngine, PublishedFigure
from specwatch_bench.report_blocks import Block, Bullets, Section, Table, Text, Words
from specwatch_bench.report_prose import sentence

_COLUMNS = ("target", "measured", "published", "source", "precision", "hardware", "version", "draft", "load")


def published_section(engine: PublishedEngine) -> Section:
    """Published figures in a table of their own, never beside a measured one."""
    sources = list(dict.fromkeys(one.source for one in engine.figures))
    rows = [_row(one, sources.index(one.source) + 1) for one in engine.figures]
    blocks: list[Block] = [
        Text(sentence("published", engine=engine.name)),
        Table(_COLUMNS, rows, words=len(_COLUMNS)),
        Text("Where each figure was read:"),
        Bullets([_source(at, source, engine.figures) for at, source in enumerate(sources, start=1)]),
    ]
    return Section("published", f"{engine.name}, published figures (not run here)", blocks)


def _row(one: PublishedFigure, at: int) -> list[Words]:
    figure = (one.target, one.measured, one.value, str(at))
    return [*figure, one.precision, one.hardware, one.version, one.draft, one.load]


def _source(at: int, source: str, figures: Sequence[PublishedFigure]) -> str:
    own = [one for one in figures if one.source == source]
    return f"Source {at}: {source}, read {own[0].seen}; {'; '.join(dict.fromkeys(one.note for one in own))}"

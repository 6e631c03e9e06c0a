"""A report as Markdown: tables for a terminal or a repository, pictures as files beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from specwatch_bench.report_blocks import Block, Bullets, Figures, Mark, Report, Section, Table, Text, Words


def markdown_of(report: Report) -> str:
    """The whole page."""
    lines = [f"# {report.title}", "", " · ".join(f"*{label}*" for label in report.labels), ""]
    lines += chain.from_iterable(map(block_lines, report.lead))
    for section in report.sections:
        lines += section_lines(section)
    return "\n".join(lines).rstrip() + "\n"


def sections_text(sections: Sequence[Section]) -> str:
    """Sections for a terminal, without pictures."""
    kept = [replace(one, blocks=_unpictured(one.blocks)) for one in sections]
    return "\n".join(chain.from_iterable(map(section_lines, kept))).rstrip()


def blocks_text(blocks: Sequence[Block]) -> str:
    """Blocks for a terminal, without pictures."""
    return "\n".join(chain.from_iterable(map(block_lines, _unpictured(blocks)))).rstrip()


def _unpictured(blocks: Sequence[Block]) -> tuple[Block, ...]:
    return tuple(block for block in blocks if not isinstance(block, Figures))


def section_lines(section: Section) -> Iterator[str]:
    """One section, with an empty line at its end."""
    yield f"{'#' * section.level} {section.title}"
    yield ""
    for block in section.blocks:
        yield from block_lines(block)


def block_lines(block: Block) -> Iterator[str]:
    """One block, with an empty line at its end."""
    if isinstance(block, Text):
        yield block.words
    elif isinstance(block, Bullets):
        yield from (f"- {item}" for item in block.items)
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Figures):
        for figure in block.items:
            yield f"![{figure.title}]({figure.name}.svg)"
    yield ""


def _table(table: Table) -> Iterator[str]:
    if table.caption:
        yield f"{table.caption}:"
        yield ""
    yield _row(table.columns)
    last = len(table.columns) - 1
    yield "|" + "".join(
        "---|" if at < table.words or (table.prose and at == last) else "---:|" for at in range(last + 1)
    )
    yield from map(_row, table.rows)


def _row(cells: Sequence[Words]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(cell: Words) -> str:
    words = cell.words if isinstance(cell, Mark) else cell
    strong = isinstance(cell, Mark) and cell.tone == "good" and "**" not in words
    escaped = words.replace("|", "\\|")
    return f"**{escaped}**" if strong else escaped

"""A report as one HTML page that loads nothing, and its pictures as files of their own."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape
from itertools import chain
from pathlib import Path
from typing import Final

from specwatch_bench.report_blocks import (
    Block,
    Bullets,
    Figure,
    Figures,
    Mark,
    Report,
    Section,
    Table,
    Text,
    Words,
)

_HERE: Final = Path(__file__).parent
_PAGE_STYLE: Final = _HERE.joinpath("report_style.css").read_text(encoding="utf-8")
_SVG_STYLE: Final = _HERE.joinpath("report_svg.css").read_text(encoding="utf-8")
_LONG: Final = 60
_MID: Final = 20
_ADDRESS: Final = re.compile(r"https://[^\s<>()|]+[^\s<>()|.,;]")


def html_of(report: Report) -> str:
    """The whole page."""
    style = _PAGE_STYLE + _SVG_STYLE
    policy = f"default-src 'none'; style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"
    labels = "".join(f"<li>{escape(label)}</li>" for label in report.labels)
    links = "".join(f'<a href="#{one.key}">{escape(one.title)}</a>' for one in report.sections if one.level == 2)
    body = "".join(map(_block, report.lead)) + f"<nav>{links}</nav>" + "".join(map(_section, report.sections))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        f"<title>{escape(report.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(report.title)}</h1>\n<ul class="labels">{labels}</ul>\n{body}</main>\n</body>\n</html>\n'
    )


def svg_files(report: Report) -> Iterator[tuple[str, str]]:
    """Name and text of every picture; each has its colours in it and follows the reader's light or dark."""
    variables = _PAGE_STYLE[: _PAGE_STYLE.index("*{")]
    blocks = chain(report.lead, *(section.blocks for section in report.sections))
    for figure in chain.from_iterable(block.items for block in blocks if isinstance(block, Figures)):
        style = f"<style>{variables}{_SVG_STYLE}svg{{background:var(--card)}}</style>"
        head, rest = figure.svg.split(">", 1)
        size = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', head)
        width, height = size.groups() if size else ("380", "290")
        place = f' xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        yield f"{figure.name}.svg", f"{head}{place}>{style}{rest}\n"


def _section(section: Section) -> str:
    tag = f"h{section.level}"
    return f'<{tag} id="{section.key}">{escape(section.title)}</{tag}>\n' + "".join(map(_block, section.blocks))


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{_inline(block.words)}</p>\n"
    if isinstance(block, Bullets):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in block.items) + "</ul>\n"
    if isinstance(block, Table):
        return _table(block)
    return '<div class="figures">\n' + "".join(map(_figure, block.items)) + "</div>\n"


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{_inline(figure.caption)}</figcaption>" if figure.caption else ""
    return f"<figure><h4>{escape(figure.title)}</h4>{figure.svg}{caption}</figure>\n"


def _table(table: Table) -> str:
    heads = "".join(
        f'<th{" class=words" if _in_words(at, table) else ""} scope="col">{_inline(name)}</th>'
        for at, name in enumerate(table.columns)
    )
    rows = "".join(f"<tr>{_row(row, table)}</tr>" for row in table.rows)
    body = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    inner = f'<div class="scroll" tabindex="0">{body}</div>\n'
    if table.folded:
        return f"<details><summary>{_inline(table.caption)}</summary>{inner}</details>\n"
    return (f'<p class="caption">{_inline(table.caption)}</p>' if table.caption else "") + inner


def _in_words(at: int, table: Table) -> bool:
    return at < table.words or (table.prose and at == len(table.columns) - 1)


def _row(row: Sequence[Words], table: Table) -> str:
    return "".join(_cell(cell, words=_in_words(at, table)) for at, cell in enumerate(row))


def _cell(cell: Words, *, words: bool) -> str:
    said, tone = (cell.words, cell.tone) if isinstance(cell, Mark) else (cell, "")
    width = "long" if len(said) > _LONG else "mid" if len(said) > _MID else ""
    kinds = ["words"] * words + [width] * (words and bool(width)) + [tone] * bool(tone)
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return f"<td{kind}>{_inline(said)}</td>"


def _inline(words: str) -> str:
    """Strong, code and addresses; everything else is escaped."""
    text = escape(words, quote=False)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return _ADDRESS.sub(lambda found: f'<a href="{found[0]}" rel="noreferrer">{found[0]}</a>', text)

"""A text panel: the few forms of Markdown that dashboards are written in, everything else as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from itertools import groupby
from typing import Final

_HEADING: Final = re.compile(r"#{1,4} ")
_ITEM: Final = re.compile(r"\s*[-*] ")
_SPANS: Final = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<b>\1</b>"),
    (re.compile(r"\*([^*]+)\*"), r"<i>\1</i>"),
    (re.compile(r"\[([^\]]+)\]\((https?://[^)\s]+|/[^)\s]*)\)"), r'<a href="\2">\1</a>'),
)


def text_view(content: str) -> str:
    """Headings, lists, paragraphs; bold, italics, code and links in them."""
    blocks = [(kind, list(lines)) for kind, lines in groupby(content.strip().splitlines(), _kind)]
    return f'<div class="text">{"".join(_BLOCKS[kind](lines) for kind, lines in blocks)}</div>'


def _kind(line: str) -> str:
    if _HEADING.match(line):
        return "heading"
    if _ITEM.match(line):
        return "list"
    return "paragraph" if line.strip() else "blank"


def _inline(line: str) -> str:
    words = escape(line.strip())
    for pattern, shape in _SPANS:
        words = pattern.sub(shape, words)
    return words


def _headings(lines: list[str]) -> str:
    return "".join(f"<h4>{_inline(line.lstrip('#'))}</h4>" for line in lines)


def _list(lines: list[str]) -> str:
    items = (_inline(_ITEM.sub("", line, count=1)) for line in lines)
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _paragraph(lines: list[str]) -> str:
    return f"<p>{'<br>'.join(map(_inline, lines))}</p>"


_BLOCKS: Final[dict[str, Callable[[list[str]], str]]] = {
    "heading": _headings,
    "list": _list,
    "paragraph": _paragraph,
    "blank": lambda _: "",
}

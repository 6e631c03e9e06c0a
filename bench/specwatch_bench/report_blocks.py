"""What a report is made of, before it is HTML or Markdown.

Texts may hold `**strong**` and `` `code` ``, and addresses; everything else in them is shown as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Mark:
    """A table's cell with a meaning.

    Attributes:
        words: what it says; it must say it without its colour.
        tone: `good`, `bad` or `quiet`.
    """

    words: str
    tone: str


Words: TypeAlias = str | Mark


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    words: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: headings.
        rows: as many cells each.
        caption: above it; may be empty.
        words: leading columns that hold words and not numbers.
        prose: the last column holds a sentence.
        folded: HTML shows the caption alone until it is opened.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Words]]
    caption: str = ""
    words: int = 1
    prose: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture.

    Attributes:
        name: of its file, without suffix.
        title: above it.
        svg: the drawing; its colours are variables of the page's style.
        caption: below it; may be empty.
    """

    name: str
    title: str
    svg: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """Pictures side by side where there is room."""

    items: Sequence[Figure]


Block: TypeAlias = Text | Bullets | Table | Figures


@dataclass(frozen=True, slots=True)
class Section:
    """A part with a heading.

    Attributes:
        key: for links, such as `cost`.
        title: heading.
        blocks: in order.
        level: 2, or 3 within one of level 2.
    """

    key: str
    title: str
    blocks: Sequence[Block]
    level: int = 2


@dataclass(frozen=True, slots=True)
class Report:
    """All of it.

    Attributes:
        title: heading.
        labels: what every figure carries, such as `dummy weights`.
        lead: below the heading.
        sections: in order.
    """

    title: str
    labels: Sequence[str]
    lead: Sequence[Block]
    sections: Sequence[Section]

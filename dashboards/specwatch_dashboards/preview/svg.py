"""Pieces of SVG: numbers short, texts escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

LETTER_PX: Final = 6.4
"""Width of a letter of the axes' font at most, on average."""


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "axis") -> str:
    """A text; `anchor` is start, middle or end."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str, color: str = "") -> str:
    """A straight line of a class."""
    stroke = f' stroke="{color}"' if color else ""
    return f'<line class="{kind}"{stroke} x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def box(x: float, y: float, width: float, height: float, kind: str, color: str = "", title: str = "") -> str:
    """A rectangle of a class, with a text for the pointer."""
    fill = f' fill="{color}"' if color else ""
    inside = f"><title>{escape(title)}</title></rect>" if title else "/>"
    return (
        f'<rect class="{kind}"{fill} x="{x:g}" y="{y:g}" width="{max(0.0, width):g}" '
        f'height="{max(0.0, height):g}"{inside}'
    )


def drawing(width: float, height: float, parts: Sequence[str], title: str) -> str:
    """A whole picture."""
    return (
        f'<svg width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def width_of(words: str) -> float:
    """Pixels that a text takes at most."""
    return len(words) * LETTER_PX


def cut(words: str, room: float) -> str:
    """The text, or as much of it as fits with an ellipsis; empty where not even three letters fit."""
    fits = int(room / LETTER_PX)
    if len(words) <= fits:
        return words
    return words[: fits - 1] + "…" if fits >= 3 else ""


def symbol(at: int, x: float, y: float, color: str) -> str:
    """One of six shapes that tell lines apart without their colours."""
    r = 3.6
    paths = (
        f"M{x - r:g} {y:g}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0",
        f"M{x - r:g} {y - r:g}h{2 * r:g}v{2 * r:g}h{-2 * r:g}",
        f"M{x:g} {y - r - 1:g}l{r + 1:g} {2 * r:g}h{-2 * r - 2:g}",
        f"M{x:g} {y - r - 1:g}l{r + 1:g} {r + 1:g}l{-r - 1:g} {r + 1:g}l{-r - 1:g} {-r - 1:g}",
        f"M{x:g} {y + r + 1:g}l{r + 1:g} {-2 * r:g}h{-2 * r - 2:g}",
        f"M{x - 1:g} {y - r - 1:g}h2v{r:g}h{r:g}v2h{-r:g}v{r:g}h-2v{-r:g}h{-r:g}v-2h{r:g}",
    )
    return f'<path class="symbol" d="{paths[at % len(paths)]}Z" fill="{color}"/>'

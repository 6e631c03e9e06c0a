"""Numbers and labels for people: escaped, of bounded length, and never 0 for unknown."""

from __future__ import annotations

import math
from html import escape

MAX_LABEL = 96
UNKNOWN = '<span class="unknown">\N{EM DASH} <small>unknown</small></span>'
_THIN = "\N{NARROW NO-BREAK SPACE}"


def plain(text: str, limit: int = MAX_LABEL) -> str:
    """Any text as one printable line: control and direction characters spelt out, the middle cut from long ones."""
    if len(text) > limit:
        head = limit * 2 // 3
        text = f"{text[:head]}\N{HORIZONTAL ELLIPSIS}{text[-(limit - head - 1) :]}"
    return "".join(letter if letter.isprintable() else _spelt(letter) for letter in text)


def _spelt(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def label(text: str, limit: int = MAX_LABEL) -> str:
    """HTML for a text from outside, isolated so that right-to-left letters do not turn their surroundings."""
    shown = escape(plain(text, limit))
    title = f' title="{escape(plain(text, 4 * MAX_LABEL))}"' if len(text) > limit else ""
    return f"<bdi{title}>{shown}</bdi>"


def known(value: float | None) -> bool:
    """True for a number that can be shown."""
    return value is not None and math.isfinite(value)


def number(value: float | None, digits: int = 2) -> str:
    """A plain number, such as a mean acceptance length."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def whole(value: float | None) -> str:
    """A count; fractions of a mean are rounded."""
    return number(value, 0)


def share_text(value: float | None) -> str:
    """A share of 0 to 1 as percent, without markup; an em dash when unknown."""
    if value is None or not math.isfinite(value):
        return "\N{EM DASH}"
    percent = value * 100
    digits = 1 if 0.05 <= abs(percent) < 99.95 else 0
    return f"{percent:.{digits}f}{_THIN}%"


def share(value: float | None) -> str:
    """A share of 0 to 1 as percent."""
    return share_text(value) if known(value) else UNKNOWN


def seconds_text(value: float) -> str:
    """A duration with three digits or so, without markup."""
    size = abs(value)
    if size < 0.9995e-3:
        return f"{value * 1e6:.0f}{_THIN}µs" if size else f"0{_THIN}s"
    if size < 0.9995:
        return f"{value * 1e3:.{0 if size >= 0.0995 else 1}f}{_THIN}ms"
    if size < 99.95:
        return f"{value:.{2 if size < 9.995 else 1}f}{_THIN}s"
    minutes = round(value / 60)
    return f"{minutes}{_THIN}min" if minutes < 120 else f"{value / 3600:.1f}{_THIN}h"


def age_text(value: float) -> str:
    """How long something is ago, or a time that somebody set: no more digits than a person wants."""
    if value < 9.95:
        return f"{round(value, 1):g}{_THIN}s"
    return f"{value:.0f}{_THIN}s" if value < 99.5 else seconds_text(value)


def seconds(value: float | None) -> str:
    """A duration."""
    return UNKNOWN if value is None or not math.isfinite(value) else seconds_text(value)


def size(value: int | None) -> str:
    """A number of bytes."""
    if value is None:
        return UNKNOWN
    return f"{value / 1024:.1f}{_THIN}KiB" if value < 2**20 else f"{value / 2**20:.1f}{_THIN}MiB"

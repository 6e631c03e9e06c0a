"""Numbers and ranges in words, the same in every table."""

from __future__ import annotations

import math

from specwatch_bench.profile_table import Range
from specwatch_bench.report_draws import Floats, interval


def number(value: float) -> str:
    """Three significant digits, without a power of ten; `-` for what is no number."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    behind = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{behind}f}"


def ranged(found: Range) -> str:
    """`1,490 (1,320 to 1,640)`."""
    return f"{number(found.value)} ({number(found.lower)} to {number(found.upper)})"


def drawn(draws: Floats) -> str:
    """The same from draws; `-` where there is no estimate."""
    return ranged(interval(draws)) if math.isfinite(draws[0]) else "-"


def dollars(value: float) -> str:
    """`$1.24`, with more digits below ten cents."""
    return f"${value:,.2f}" if value >= 0.1 else f"${value:.3f}"


def dollar_range(found: Range) -> str:
    """`$1.24 ($1.10 to $1.40)`."""
    return f"{dollars(found.value)} ({dollars(found.lower)} to {dollars(found.upper)})"


def percent(share: float) -> str:
    """`6 %`, one digit behind the point below 10."""
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.1f} %"

"""The fallback's part of the terminal view: where the traffic is, why, and how the pools do."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from specwatch_exporters.demo.fallback import FallbackNow
from specwatch_exporters.demo.moment import PoolRow

_BAR = 30
_STYLES = ("green", "cyan", "yellow", "magenta")
_UNKNOWN = "\N{EN DASH}"


def traffic(now: FallbackNow) -> list[RenderableType]:
    """A bar of the shares, and the controller's reason."""
    bar = Text()
    edge, filled = 0.0, 0
    for at, (_, share) in enumerate(now.shares):
        edge += share
        cells = round(edge * _BAR) - filled
        filled += cells
        bar.append("█" * cells, style=_STYLES[at % len(_STYLES)])
    head = Text.assemble("\ntraffic ", bar, "  ", (now.shares_text, "bold"))
    return [head, Text(now.reason, style="dim", overflow="ellipsis", no_wrap=True)]


def pools(rows: tuple[PoolRow, ...]) -> RenderableType:
    """One line per pool."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    for index, heading in enumerate(("pool", "share", "in flight", "tokens/s", "length")):
        table.add_column(heading, justify="left" if index == 0 else "right", no_wrap=True)
    for row in rows:
        rate = _UNKNOWN if row.tokens_per_second is None else f"{row.tokens_per_second:,.0f}"
        length = _UNKNOWN if row.length is None else f"{row.length:.2f}"
        table.add_row(row.name, f"{row.share:.0%}", str(row.in_flight), rate, length)
    return table

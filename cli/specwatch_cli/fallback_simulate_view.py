"""Draw what the policy would have done for a person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specwatch_cli.fallback_status_view import ago
from specwatch_detectors.fallback.decision import Act
from specwatch_detectors.fallback.fallback_replay import Replayed

_WORDS = {
    Act.SWITCH: "switch to",
    Act.PROBE: "probe, on",
    Act.END_PROBE: "probe over, on",
    Act.RECOMMEND: "advise",
    Act.LATCH: "latch on",
}


def print_outcome(outcome: Replayed, console: Console | None = None) -> None:
    """Print decisions and their worth."""
    console = console or Console()
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for at, decision in outcome.decisions:
        style = "bold" if decision.act in {Act.SWITCH, Act.LATCH} else ""
        what = Text(f"{_WORDS.get(decision.act, decision.act.value)} {decision.level.value}", style=style)
        table.add_row(f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}", what, Text(decision.reason))
    if outcome.decisions:
        console.print(table)
    else:
        console.print("It would have stayed where it was all the time.")
    for text in _sums(outcome):
        console.print(text, highlight=False)
    if outcome.unknown_s:
        console.print(
            f"Not counted, because the level was not measured: {ago(outcome.unknown_s)}.", highlight=False
        )


def _sums(outcome: Replayed) -> Iterator[str]:
    on_level = ", ".join(f"{ago(seconds)} on {level.words}" for level, seconds in outcome.on_level.items())
    length = ago(outcome.ended - outcome.began)
    yield f"\n{length} replayed: {on_level}; switches: {outcome.switches}. Times are UTC."
    lost, idle = ago(outcome.lost_s), ago(outcome.idle_lost_s)
    yield f"Capacity lost against the best level at each moment: {lost}, switches included; doing nothing: {idle}."
    yield _worth(outcome.avoided_s)


def _worth(avoided_s: float) -> str:
    if avoided_s >= 0.0:
        return f"Regret avoided: {ago(avoided_s)} of the whole capacity."
    return f"It would have cost {ago(-avoided_s)} of the whole capacity more than doing nothing."

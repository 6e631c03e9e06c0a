"""Draw the story of an audit log for a person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specwatch_cli.fallback_status_view import LEGEND, ago
from specwatch_detectors.fallback.audit_words import Line, Summary

_STYLES = {
    "intent": "bold",
    "done": "green",
    "undone": "bold red",
    "undo": "red",
    "refused": "red",
    "waiting": "yellow",
    "held": "yellow",
    "operator": "bold cyan",
    "found": "cyan",
    "overtaken": "cyan",
    "advice": "yellow",
    "round": "dim",
}
_WORDS = {
    "not_paying": "to a fallback",
    "pays_again": "home after paying probes",
    "new_revision": "home for a new revision",
    "estimate_wrong": "home because an estimate was wrong",
    "operator": "by hand",
    "probe": "to probe",
    "probe_end": "back from a probe",
    "undone": "taken back",
}


def print_story(lines: Sequence[Line], whole: Summary, console: Console | None = None) -> None:
    """Print lines of a story, and what they come to."""
    console = console or Console()
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    day = ""
    for line in lines:
        at = datetime.fromtimestamp(line.at, UTC)
        if day != f"{at:%Y-%m-%d}":
            day = f"{at:%Y-%m-%d}"
            table.add_row(Text(day, style="bold"), "")
        text = f"  {line.text}" if line.detail else line.text
        table.add_row(f"{at:%H:%M:%S}", Text(text, style=_STYLES.get(line.kind, "")))
    console.print(table)
    _print_sum(whole, console)


def _print_sum(whole: Summary, console: Console) -> None:
    on_level = ", ".join(f"{ago(seconds)} on {level.words}" for level, seconds in whole.on_level.items() if seconds)
    console.print(
        f"\n{ago(whole.ended - whole.began)} in all: {on_level or 'one round'}. Times are UTC.", highlight=False
    )
    moves = ", ".join(f"{count} {_WORDS.get(cause, cause)}" for cause, count in sorted(whole.moves.items()))
    console.print(f"Movements: {moves or 'none'}.", highlight=False)
    console.print(LEGEND, style="dim", highlight=False)
    if whole.damaged:
        was = "line is no entry" if whole.damaged == 1 else "lines are no entries"
        console.print(f"{whole.damaged} {was}: torn when the writer was killed, and nothing was done on it.")

"""Draw the status of a controller for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

UNKNOWN = "unknown"
LEGEND = "1.20x: tokens per second over those without speculation, with 95 % bounds."


def print_status(body: Mapping[str, Any], now: float, console: Console | None = None) -> None:
    """Print what `/status.json` says.

    Args:
        body: as `controller_status.status` makes it.
        now: epoch seconds.
        console: where to.
    """
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in _rows(body, now):
        table.add_row(name, text if isinstance(text, Text) else Text(text))
    console = console or Console()
    console.print(table)
    console.print(f"\n{LEGEND}", style="dim", highlight=False)


def ago(seconds: float) -> str:
    """A length of time in its largest unit: `42 s`, `7 min`, `3.5 h`, `2.1 days`."""
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h" if seconds < 172_800.0 else f"{seconds / 86_400.0:.1f} days"


def _rows(body: Mapping[str, Any], now: float) -> Iterator[tuple[str, str | Text]]:
    yield "model", body["model"]
    mode = "acting" if body["acting"] else "dry run: nothing is moved without --act"
    yield "mode", mode if body["leading"] else f"{mode}; stands by"
    if body["level"] is None:
        yield "level", UNKNOWN
    else:
        style = "bold red" if body["latched"] else "bold green" if not body["veto"] else "bold yellow"
        latched = ", latched" if body["latched"] else ""
        yield (
            "level",
            Text(f"{body['level_words']}, for {ago(max(0.0, now - body['since']))}{latched}", style=style),
        )
    yield "why", body["reason"]
    if body["transition"] is not None:
        yield "moving", _moving(body["transition"])
    for number, sentence in enumerate(body["changes_when"]):
        yield "what would change it" if number == 0 else "", sentence
    yield from _figures(body, now)
    for kind, words in body["troubles"].items():
        yield f"trouble: {kind}", Text(words, style="red")


def _figures(body: Mapping[str, Any], now: float) -> Iterator[tuple[str, str]]:
    if body["lever"] is not None:
        yield "lever", _lever(body["lever"])
    if body["regret_s"] is not None:
        yield "capacity lost", f"{body['regret_s']:.0f} s on this level"
        yield "switches", f"{body['switches_today']} of {body['switches_per_day']} in the last 24 hours"
    yield "last round", UNKNOWN if body["at"] is None else f"{ago(max(0.0, now - body['at']))} ago"


def _lever(lever: Mapping[str, Any]) -> str:
    shares = ", ".join(f"{100.0 * share:.3g} % {level}" for level, share in lever["shares"].items())
    marks = ["" if lever["settled"] else "not settled", lever["note"]]
    marks.append(f"managed by {lever['foreign']}" if lever["foreign"] else "")
    return "; ".join(filter(None, (shares, *marks)))


def _moving(moving: Mapping[str, Any]) -> str:
    text = f"to {moving['to']}: step {moving['step']} of {len(moving['steps'])}, {moving['phase']}"
    return f"{text}; {moving['note']}" if moving["note"] else text

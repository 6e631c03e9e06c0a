"""Draw a backtest for a person, or as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specwatch_alerts.backtest import LEAST_DAYS, Backtest, RuleResult
from specwatch_alerts.backtest_episodes import Episode
from specwatch_cli.fallback_status_view import ago
from specwatch_cli.plain_console import plain_console
from specwatch_detectors.history import clock

_PLACE = ("namespace", "model", "pod", "instance")
_STYLE = {"page": "bold red", "ticket": "yellow", "info": "cyan"}


def print_backtest(result: Backtest, top: int, console: Console | None = None) -> None:
    """Print what fired, what stayed quiet, and what cannot be told.

    Args:
        result: of the backtest.
        top: label sets to show per rule, those that fired longest first.
        console: where to.
    """
    console = console or plain_console()
    span = result.span
    console.print(
        f"{clock(span.start)} to {clock(span.end)} UTC, evaluated every {span.step} s; "
        f"{result.observed_days:.1f} of {(span.end - span.start) / 86_400:.1f} days have series",
        highlight=False,
    )
    evaluated = [one for one in result.results if not one.refused]
    if evaluated:
        console.print(_table(result, evaluated, top))
    for line in _notes(result):
        console.print(line)


def _table(result: Backtest, evaluated: list[RuleResult], top: int) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("alert", overflow="fold")
    table.add_column("severity")
    days = result.observed_days
    count = "in 30 days" if days >= LEAST_DAYS else f"in {days:.1f} day{'' if f'{days:.1f}' == '1.0' else 's'}"
    for heading in ("fired", count, "firing for", "longest", "held back"):
        table.add_column(heading, justify="right")
    for one in sorted(evaluated, key=lambda own: -len(own.episodes)):
        month = result.per_month(one)
        name = Text(one.rule.name, style="bold" if one.episodes else "")
        name.append(" *" if one.missing else "")
        table.add_row(
            name,
            Text(one.rule.severity, style=_STYLE.get(one.rule.severity, "") if one.episodes else ""),
            str(len(one.episodes)),
            str(len(one.episodes)) if month is None else f"{month:.1f}",
            *_times(one.episodes),
            str(one.held_back),
        )
        for row in _label_rows(one, top):
            table.add_row(*row, style="dim")
    return table


def _label_rows(one: RuleResult, top: int) -> Iterator[tuple[str, ...]]:
    fired = [(labels, own) for labels, own in one.firing.items() if own.episodes]
    fired.sort(key=lambda item: -sum(episode.seconds for episode in item[1].episodes))
    for labels, own in fired[:top]:
        ordered = sorted(labels, key=lambda pair: _PLACE.index(pair[0]) if pair[0] in _PLACE else len(_PLACE))
        shown = " ".join(f"{name}={value}" for name, value in ordered) or "(no labels)"
        yield f"  {shown}", "", str(len(own.episodes)), "", *_times(own.episodes), str(own.held_back)
    if top and len(fired) > top:
        yield f"  and {len(fired) - top} more", "", "", "", "", "", ""


def _times(episodes: list[Episode] | tuple[Episode, ...]) -> tuple[str, str]:
    """Time of firing in all, and the longest; a plus where it still fires."""
    if not episodes:
        return "", ""
    still = "" if all(one.ended for one in episodes) else "+"
    return ago(sum(one.seconds for one in episodes)) + still, ago(max(one.seconds for one in episodes))


def _notes(result: Backtest) -> Iterator[Text]:
    yield from _listed("not evaluated", result, lambda one: one.refused)
    words = "* some of its series are missing: fine where others stand in for them, else its silence proves nothing"
    yield from _listed(
        words, result, lambda one: "" if one.refused else "without " + ", ".join(_families(one.missing))
    )
    put_in = sorted({name for one in result.results for name in one.put_in})
    if put_in:
        words = "recording rules that were not there, worked out from what they read"
        yield Text(f"\n{words}: {', '.join(put_in)}", style="dim")


def _listed(heading: str, result: Backtest, said: Callable[[RuleResult], str]) -> Iterator[Text]:
    """A heading and what is said of alerts, their severities together where the same is said."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in result.results:
        words = said(one)
        if words and words != "without ":
            severities = found.setdefault((one.rule.name, words), [])
            severities += [one.rule.severity] if one.rule.severity not in severities else []
    if found:
        yield Text(f"\n{heading}", style="bold yellow")
    for (name, words), severities in found.items():
        yield Text.assemble((f"  {name}", "yellow"), f" ({', '.join(severities)}): {words}")


def _families(names: Iterable[str]) -> list[str]:
    """Names of metrics, a histogram's parts as one."""
    return list(dict.fromkeys(re.sub("_(bucket|count|sum)$", "", name) for name in names))


def backtest_json(result: Backtest) -> str:
    """The whole result as one JSON object; times are epoch seconds."""
    span = result.span
    rules = [_rule_json(result, one) for one in result.results]
    whole = {"start": span.start, "end": span.end, "step_s": span.step, "observed_days": result.observed_days}
    return json.dumps({**whole, "rules": rules}, indent=2)


def _rule_json(result: Backtest, one: RuleResult) -> dict[str, Any]:
    return {
        "alert": one.rule.name,
        "severity": one.rule.severity,
        "evaluated": not one.refused,
        "reason": one.refused or None,
        "missing": list(one.missing),
        "recordings_worked_out": list(one.put_in),
        "episodes": len(one.episodes) if not one.refused else None,
        "per_30_days": result.per_month(one) if not one.refused else None,
        "firing_s": sum(episode.seconds for episode in one.episodes),
        "longest_s": max((episode.seconds for episode in one.episodes), default=0.0),
        "held_back": one.held_back,
        "label_sets": [
            {
                "labels": dict(labels),
                "held_back": own.held_back,
                "episodes": [
                    {"start": episode.start, "end": episode.end, "ended": episode.ended} for episode in own.episodes
                ],
            }
            for labels, own in one.firing.items()
        ],
    }

"""Draw an explanation for a person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from specwatch_detectors.explain.evidence import Evidence
from specwatch_detectors.explain.explanation import Explanation, Outcome
from specwatch_detectors.explain.kitagawa import Split
from specwatch_detectors.explain.scoring import Ranked

_COLOURS = {Outcome.NAMED: "bold red", Outcome.CANNOT_TELL: "bold yellow", Outcome.NO_CHANGE: "bold green"}


def print_explanation(
    answer: Explanation, evidence: Evidence, hints: Sequence[str] = (), console: Console | None = None
) -> None:
    """Print the answer, its numbers, the evidence for and against, and what to do next."""
    console = console or Console()

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    say(f"[{_COLOURS[answer.outcome]}]{escape(answer.headline)}[/]")
    if answer.says:
        say(escape(answer.says))
    say(f"\n[dim]{escape(_numbers(answer, evidence))}[/]")
    if answer.split is not None:
        console.print(_classes(answer.split))
    for ranked in answer.candidates:
        _print_candidate(console, ranked)
    _print_list(console, "Hints", hints)
    _print_list(console, "Not known, and would tell more", answer.would_tell)
    _print_list(console, "Next", answer.next_checks)


def _numbers(answer: Explanation, evidence: Evidence) -> str:
    when = _time(evidence.onset)
    return f"{answer.facts['acceptance_fell'].words}; onset {when}; design effect {evidence.design:.1f}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 1e8:  # a clock that does not count from 1970
        return f"{seconds:g} s"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _classes(split: Split) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("class", "share before", "after", "length before", "after", "mix", "within"):
        table.add_column(heading, justify="left" if heading == "class" else "right")
    for part in split.parts:
        table.add_row(
            escape(part.name),
            f"{part.share_before:.0%}",
            f"{part.share_after:.0%}",
            f"{1.0 + part.mean_before:.2f}",
            f"{1.0 + part.mean_after:.2f}",
            f"{part.mix:+.3f}",
            f"{part.within:+.3f}",
        )
    table.add_row("[bold]all[/]", "", "", "", "", f"{split.mix.value:+.3f}", f"{split.within.value:+.3f}")
    return table


def _print_candidate(console: Console, ranked: Ranked) -> None:
    title = f"\n[bold]{escape(ranked.cause.name)}[/] ({ranked.share})"
    console.print(title, highlight=False, soft_wrap=True)
    for sign, colour, reasons in (("+", "green", ranked.evidence_for), ("-", "red", ranked.evidence_against)):
        for reason in reasons:
            console.print(f"  [{colour}]{sign}[/] {escape(reason.words)}", highlight=False, soft_wrap=True)


def _print_list(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print(f"\n[bold]{title}[/]")
    for number, line in enumerate(lines, start=1):
        console.print(f"  {number}. {escape(line)}", highlight=False, soft_wrap=True)

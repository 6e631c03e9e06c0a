"""Findings for people and for programs, and the exit status."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from specwatch_cli.doctor_forms import FailOn, Form
from specwatch_deploy.doctor.finding import ORDER, Finding, Severity, reaches
from specwatch_deploy.doctor.output_json import json_text
from specwatch_deploy.doctor.output_junit import junit_text
from specwatch_deploy.doctor.output_sarif import sarif_text

_STYLE: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_INDENT: Final = 10


def give(findings: Sequence[Finding], form: Form, show: Severity, fail_on: FailOn, head: str = "") -> None:
    """Print findings, and end with the exit status.

    Args:
        findings: sorted.
        form: how.
        show: the least severity that a table lists; the other forms list all.
        fail_on: from which severity on the status is 1.
        head: one line above the table: what was looked at.

    Raises:
        typer.Exit: with 1, if a finding is bad enough.
    """
    everything = list(findings)
    if form is Form.TABLE:
        _table(everything, show, head)
    else:
        typer.echo({Form.JSON: json_text, Form.SARIF: sarif_text, Form.JUNIT: junit_text}[form](everything))
    if fail_on is not FailOn.NEVER and reaches(everything, Severity(fail_on.value)):
        raise typer.Exit(1)


def _table(findings: list[Finding], show: Severity, head: str) -> None:
    console = Console(highlight=False)
    wraps = console.is_terminal
    if head:
        console.print(Text(head, style="dim"), soft_wrap=not wraps)
    listed = [one for one in findings if reaches([one], show)]
    by_file = sorted(listed, key=lambda one: one.place.file)
    for file, own in groupby(by_file, key=lambda one: one.place.file):
        console.print(Text(f"\n{file}", style="bold"), soft_wrap=not wraps)
        for one in sorted(own, key=lambda one: one.rank):
            _print(console, one, wraps=wraps)
    console.print(_sum(findings, show), soft_wrap=not wraps)


def _print(console: Console, one: Finding, *, wraps: bool) -> None:
    where = ", ".join(part for part in (f"line {one.place.line}" if one.place.line else "", one.place.part) if part)
    head = Text.assemble(("  "), (f"{one.severity:<8}", _STYLE[one.severity]), (one.code, "bold"), f"  {where}")
    lines = [Text(one.message)]
    if one.evidence:
        lines.append(Text(one.evidence, style="dim"))
    if one.mended:
        lines.append(Text.assemble(("instead: ", "green"), " ".join(one.mended.split())))
    if wraps:
        console.print(head)
        for line in lines:
            console.print(Padding(line, (0, 0, 0, _INDENT)))
    else:
        for line in (head, *(Text(" " * _INDENT).append_text(line) for line in lines)):
            console.print(line, soft_wrap=True)


def _sum(findings: list[Finding], show: Severity) -> Text:
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    counts = [(severity, sum(1 for one in findings if one.severity is severity)) for severity in ORDER]
    if not findings:
        return Text("\nno findings", style="green")
    text = Text("\n")
    text.append(", ".join(f"{count} {words[one]}{'' if count == 1 else 's'}" for one, count in counts if count))
    hidden = sum(count for one, count in counts if not ORDER.index(one) <= ORDER.index(show))
    return text.append(f" ({hidden} not shown: --show info)" if hidden else "")

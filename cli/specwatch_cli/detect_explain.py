"""`specwatch detect explain`: why acceptance moved, from a file of windows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError


class Format(StrEnum):
    """How to print."""

    TEXT = "text"
    JSON = "json"


def explain_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Windows as JSON or CSV: time, drafts, accepted tokens, and what else is known."
        ),
    ],
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it changed; found from the data if left out.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Leave out what came later, such as the repair.")
    ] = None,
    events: Annotated[
        list[str] | None,
        typer.Option("--event", metavar="KIND=TIME", help="Something that happened: deploy, restart, version, ..."),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl", help="Requests with time and features: says which of them differ (scikit-learn)."
        ),
    ] = None,
    odd_shape: Annotated[
        bool, typer.Option("--odd-shape", help="Say whether the shape is unlike any before (scikit-learn); a hint.")
    ] = False,
    design: Annotated[
        float | None, typer.Option(metavar="D", help="Design effect; estimated from the file if left out.")
    ] = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="Which model, if the file has several.")] = "",
    output: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TEXT,
) -> None:
    """Say why acceptance moved: mix or draft, which classes and pods, which cause, and when it cannot be told."""
    if design is not None and not 1.0 <= design < 1e6:
        raise UserError(f"--design is {design:g}; it must be 1 or more", exit_code=2)
    # The sidecar starts through the same command line: what explains is loaded only to explain.
    from specwatch_cli.detect_explain_report import Question, answer, as_json  # noqa: PLC0415

    report = answer(Question(file, at, until, tuple(events or ()), records, odd_shape, design, model))
    if output is Format.JSON:
        typer.echo(as_json(report))
        return
    from specwatch_cli.detect_explain_view import print_explanation  # noqa: PLC0415 - brings rich, only when drawn

    print_explanation(report.explanation, report.evidence, [str(hint["words"]) for hint in report.hints.values()])

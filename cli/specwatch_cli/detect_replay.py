"""`specwatch detect replay`: a past history through the detectors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError


class Format(StrEnum):
    """How the answer is printed."""

    TEXT = "text"
    JSON = "json"


def replay_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV (columns: docs/detect.md), what Prometheus's /api/v1/query_range answered, or vLLM's log; "
            "plain or gzip.",
        ),
    ],
    profile: Annotated[
        Path | None, typer.Option(metavar="PROFILE", help="From `detect calibrate`; else the baseline is learned.")
    ] = None,
    interval: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Length of an interval; default: the file's own.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="OUT.png", help="Draw acceptance, evidence and alarms (matplotlib).")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TEXT,
    change_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When acceptance is known to have changed: gives the delay.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="One model of several.")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Leave out what is before.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Leave out what is after.")] = None,
    pages: Annotated[float, typer.Option(metavar="N", help="False pages allowed in 30 days, per model.")] = 1.0,
    fail_on_alarm: Annotated[
        bool, typer.Option("--fail-on-alarm", help="Exit with 1 if there was any alarm.")
    ] = False,
) -> None:
    """Run a history through the detectors: what they learn, when they alarm, how late, and why.

    Exit status: 0, or 1 with --fail-on-alarm if there was an alarm; 2 when an input cannot be used.
    """
    if not 0.0 < pages <= 1e6:
        raise UserError(f"--pages must be positive, got {pages:g}", exit_code=2)
    if picture is not None and picture.suffix.lower() != ".png":
        raise UserError(f"--picture {picture}: the picture is a PNG; name it so", exit_code=2)
    from specwatch_cli.detect_replay_work import Order, replay_order  # noqa: PLC0415 - not needed for --help

    alarmed = replay_order(
        Order(
            file=file,
            profile=profile,
            interval=interval,
            picture=picture,
            as_json=output is Format.JSON,
            change_at=change_at,
            model=model,
            start=start,
            end=end,
            pages=pages,
        )
    )
    if fail_on_alarm and alarmed:
        raise typer.Exit(1)

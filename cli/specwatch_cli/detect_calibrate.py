"""`specwatch detect calibrate`: a profile from days of history."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError


def calibrate_command(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="CSV (columns: docs/detect.md), what Prometheus's /api/v1/query_range answered, or vLLM's log; "
            "plain or gzip.",
            show_default=False,
        ),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this Prometheus instead of reading a file.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="PROFILE", help="Where to write the profile.")] = Path(
        "specwatch-profile.json"
    ),
    days: Annotated[float, typer.Option(metavar="N", help="Days to ask Prometheus for, up to now.")] = 8.0,
    interval: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Length of an interval; default: the file's own, 10s of Prometheus."),
    ] = None,
    match: Annotated[
        str, typer.Option(metavar="MATCHERS", help='Label matchers for Prometheus, such as namespace="llm".')
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with a bearer token for Prometheus.")
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Records of requests: drafts, accepted; class, model where known."),
    ] = None,
    pages: Annotated[float, typer.Option(metavar="N", help="False pages allowed in 30 days, per model.")] = 1.0,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="One model of several.")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Leave out what is before.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Leave out what is after.")] = None,
) -> None:
    """Fit baseline, design effect and threshold to at least 7 quiet days, replay them, and write one profile.

    Refuses, with every reason, when the data cannot certify the budget; then nothing is written.

    Exit status: 0, 1 when refused, 2 when an input cannot be used.
    """
    if not 0.0 < pages <= 1e6:
        raise UserError(f"--pages must be positive, got {pages:g}", exit_code=2)
    if (file is None) == (prometheus is None):
        raise UserError("say either FILE or --prometheus URL", exit_code=2)
    from specwatch_cli.detect_calibrate_work import Order, calibrate_order  # noqa: PLC0415 - not needed for --help

    calibrate_order(
        Order(
            file=file,
            prometheus=prometheus or "",
            out=out,
            days=days,
            interval=interval,
            match=match,
            token_file=token_file,
            requests=requests,
            pages=pages,
            model=model,
            start=start,
            end=end,
        )
    )

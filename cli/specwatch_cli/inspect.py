"""`specwatch inspect`: what a page, log, response or benchmark result says about speculation."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from specwatch_cli.errors import UserError
from specwatch_exporters.engines.registry import ENGINES


def inspect_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="URL or file (plain or gzip; - for standard input): a metrics page, TensorRT-LLM JSON, an engine "
            "log, a response, an SSE stream, or the result of a benchmark (vLLM's text or JSON, SGLang's).",
        ),
    ],
    since: Annotated[
        str | None,
        typer.Option(
            metavar="EARLIER", help="An earlier page of the same engine; report the span between the two."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Read as this engine instead of guessing: {', '.join(ENGINES)}."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; unknown numbers are null.")
    ] = False,
) -> None:
    """Say what an engine's page, log, response or benchmark means, with every warning that applies.

    Exit status: 0 when something was read, 1 when nothing about an engine can be read, 2 for wrong usage.
    """
    if engine is not None and engine not in ENGINES:
        raise UserError(f"--engine {engine!r} is not known; use one of: {', '.join(ENGINES)}", exit_code=2)
    # The sidecar starts through this command line, too, and must not carry these (5 MB).
    from specwatch_cli.inspect_view import print_report  # noqa: PLC0415
    from specwatch_exporters.inspection import InspectionError, inspect, unidentified  # noqa: PLC0415
    from specwatch_exporters.source import load  # noqa: PLC0415

    try:
        report = inspect(load(source), None if since is None else load(since), engine)
    except InspectionError as error:
        raise UserError(str(error)) from error
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=1, allow_nan=False))
    else:
        print_report(report, source)
    problem = unidentified(report)
    if problem is not None:
        raise UserError(f"{source}: {problem.message}")

"""`specwatch dashboards build`: the dashboards' JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError
from specwatch_dashboards.source import Source


def build_command(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to write the files into; it is made if need be.")
    ] = Path("specwatch-dashboards"),
    source: Annotated[
        Source,
        typer.Option(help="What the recording rules stand on: the scrape sidecar, or the engines' own pages."),
    ] = Source.SIDECAR,
) -> None:
    """Write the dashboards as JSON, one file each, for Grafana 11 and newer.

    They read the series that the rules of `specwatch alerts build` record: load those into Prometheus first.

    Exit status: 0, 1 when a file cannot be written, 2 for wrong usage or without the extra `dashboards`.
    """
    try:
        from specwatch_dashboards.build import write  # noqa: PLC0415  # needs the extra
    except ModuleNotFoundError as error:
        raise UserError(
            f"dashboards are built with {error.name}: pip install '.[dashboards]'", exit_code=2
        ) from error
    try:
        paths = write(out, source)
    except OSError as error:
        raise UserError(f"cannot write {error.filename or out}: {error.strerror}") from error
    for path in paths:
        typer.echo(f"wrote {path}")

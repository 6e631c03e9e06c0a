"""`specwatch dashboards push`: dashboards into a Grafana."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.dashboards_chosen import Files, Sources, chosen
from specwatch_cli.errors import UserError
from specwatch_dashboards.source import Source


def push_command(
    grafana: Annotated[str, typer.Option(metavar="URL", help="Grafana, without /api.")],
    token_file: Annotated[
        Path, typer.Option(metavar="FILE", help="File with the token of a service account, Editor or more.")
    ],
    files: Files = None,
    source: Sources = Source.SIDECAR,
    folder: Annotated[
        str, typer.Option(metavar="NAME", help="Title of the folder; it is made if need be. Empty: the top.")
    ] = "specwatch",
    datasource: Annotated[
        str,
        typer.Option(metavar="UID", help="Data source that the pages begin with. Default: Grafana's default."),
    ] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace dashboards that are there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only ask, and say what would be done.")] = False,
) -> None:
    """Load the dashboards into a Grafana over its API.

    Without --overwrite a dashboard that is there already ends the command; those before it are loaded.

    Exit status: 0, 1 when Grafana or a file cannot be used, 2 for wrong usage or without the extra `dashboards`.
    """
    # Not needed for --help, nor by what runs beside an engine.
    from specwatch_alerts.slack.secret_file import SecretError, SecretFile  # noqa: PLC0415
    from specwatch_dashboards.push import PushOrder, push  # noqa: PLC0415
    from specwatch_dashboards.push_api import GrafanaApi, PushError  # noqa: PLC0415

    try:
        api = GrafanaApi(grafana, SecretFile(token_file, "the token's file"))
    except ValueError as error:
        raise UserError(f"--grafana: {error}", exit_code=2) from error
    order = PushOrder(f"specwatch {version('specwatch')}", folder, datasource, overwrite, dry_run)
    try:
        for line in push(chosen(files, source), api, order):
            typer.echo(line)
    except (PushError, SecretError) as error:
        raise UserError(str(error)) from error

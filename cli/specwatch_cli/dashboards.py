"""`specwatch dashboards`: Grafana dashboards."""

from __future__ import annotations

import typer

from specwatch_cli.dashboards_build import build_command

app = typer.Typer(no_args_is_help=True, help="Grafana dashboards: build, look at, load.")

app.command("build")(build_command)

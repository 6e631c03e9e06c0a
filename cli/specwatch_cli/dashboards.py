"""`specwatch dashboards`: Grafana dashboards."""

from __future__ import annotations

import typer

from specwatch_cli.dashboards_build import build_command
from specwatch_cli.dashboards_deliver import deliver_command
from specwatch_cli.dashboards_preview import preview_command
from specwatch_cli.dashboards_push import push_command

app = typer.Typer(no_args_is_help=True, help="Grafana dashboards: build, look at, load.")

app.command("build")(build_command)
app.command("preview")(preview_command)
app.command("push")(push_command)
app.command("deliver")(deliver_command)

"""`specwatch scale`: replicas by what the load takes."""

from __future__ import annotations

import typer

from specwatch_cli.scale_build import build_command
from specwatch_cli.scale_simulate import simulate_command

app = typer.Typer(no_args_is_help=True, help="Scale replicas on demand in replica units, with KEDA or the HPA.")

app.command("build")(build_command)
app.command("simulate")(simulate_command)

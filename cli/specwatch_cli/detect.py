"""`specwatch detect`: drift of the draft, from files and from Prometheus."""

from __future__ import annotations

import typer

from specwatch_cli.detect_calibrate import calibrate_command
from specwatch_cli.detect_example import example_command
from specwatch_cli.detect_explain import explain_command
from specwatch_cli.detect_replay import replay_command
from specwatch_cli.detect_watch import watch_command

app = typer.Typer(no_args_is_help=True, help="Drift of the draft: calibrate, replay, explain, watch a fleet.")

app.command("calibrate")(calibrate_command)
app.command("example")(example_command)
app.command("explain")(explain_command)
app.command("replay")(replay_command)
app.command("watch")(watch_command)

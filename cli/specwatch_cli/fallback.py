"""`specwatch fallback`: from the drafter to n-gram or to none, and back, as an operated action."""

from __future__ import annotations

import typer

from specwatch_cli.fallback_history import history_command
from specwatch_cli.fallback_order import leave_command, return_command, unlatch_command
from specwatch_cli.fallback_role import role_command
from specwatch_cli.fallback_run import run_command
from specwatch_cli.fallback_simulate import simulate_command
from specwatch_cli.fallback_status import status_command

app = typer.Typer(no_args_is_help=True, help="Fall back from a drafter that does not pay, and come back.")

app.command("run")(run_command)
app.command("status")(status_command)
app.command("history")(history_command)
app.command("simulate")(simulate_command)
app.command("unlatch")(unlatch_command)
app.command("return")(return_command)
app.command("leave")(leave_command)
app.command("role")(role_command)

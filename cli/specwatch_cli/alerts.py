"""`specwatch alerts`: rules that on-call can trust, their runbooks and their routing."""

from __future__ import annotations

import typer

from specwatch_cli.alerts_backtest import backtest_command
from specwatch_cli.alerts_build import build_command
from specwatch_cli.alerts_lint import lint_command
from specwatch_cli.alerts_list import list_command
from specwatch_cli.alerts_routing import alertmanager_command
from specwatch_cli.alerts_runbook import runbook_command

app = typer.Typer(no_args_is_help=True, help="Build alerting rules, their routing and their runbooks.")

app.command("build")(build_command)
app.command("list")(list_command)
app.command("lint")(lint_command)
app.command("runbook")(runbook_command)
app.command("alertmanager")(alertmanager_command)
app.command("backtest")(backtest_command)

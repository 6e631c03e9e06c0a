"""`specwatch doctor`: whether the monitoring itself works."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperGroup

from specwatch_cli.doctor_check import check_command
from specwatch_cli.doctor_draft import draft_command
from specwatch_cli.doctor_explain import explain_command

_DEFAULT: Final = "check"


class _InputsFirst(TyperGroup):
    """Takes a first word that is no command as the first input of `check`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `TyperGroup`."""
        if not args or args[0] not in self.commands:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_InputsFirst, help="Find what is wrong with dashboards, rules, scalers and drafts.")
app.command(_DEFAULT)(check_command)
app.command("draft")(draft_command)
app.command("explain")(explain_command)

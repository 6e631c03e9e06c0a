"""`specwatch alerts runbook`: the page for the person who was woken."""

from __future__ import annotations

from typing import Annotated

import typer

from specwatch_cli.errors import UserError


def runbook_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name of the alert, as the message has it; `Specwatch` may be left out.",
            show_default=False,
        ),
    ],
) -> None:
    """Print the runbook of an alert: what it means, two queries, causes, what to do, how to undo.

    Markdown is drawn in a terminal and printed as it is into a pipe.

    Exit status: 0, 2 when there is no such runbook.
    """
    from rich.console import Console  # noqa: PLC0415 - not for the sidecar, which starts through the same command line
    from rich.markdown import Markdown  # noqa: PLC0415 - likewise

    from specwatch_alerts.runbook_files import RunbookError, runbook_text  # noqa: PLC0415 - likewise

    try:
        text = runbook_text(name)
    except RunbookError as error:
        raise UserError(str(error), exit_code=2) from error
    console = Console()
    if console.is_terminal:
        console.print(Markdown(text, code_theme="ansi_dark"))
    else:
        typer.echo(text, nl=False)

"""`specwatch alerts list`: every alert with severity and meaning."""

from __future__ import annotations

import typer


def list_command() -> None:
    """List the alerts: severity, what they are built on, and what they mean."""
    from rich.table import Table  # noqa: PLC0415 - drawn only here

    from specwatch_alerts.definition import load_definitions  # noqa: PLC0415
    from specwatch_alerts.origin import Origin  # noqa: PLC0415
    from specwatch_cli.plain_console import plain_console  # noqa: PLC0415 - loads rich

    table = Table(box=None, pad_edge=False)
    for title in ("alert", "severity", "meaning"):
        table.add_column(title, no_wrap=title == "alert")
    for one in load_definitions():
        alone = [origin.value for origin in one.origins]
        only = "" if len(alone) == len(Origin) else f" [dim](from {', '.join(alone)} only)[/dim]"
        table.add_row(one.name, " ".join(one.severities), one.summary + only)
    plain_console().print(table)
    typer.echo("Runbook of an alert: specwatch alerts runbook NAME")

"""`specwatch alerts alertmanager`: routes, receivers and inhibition as a file for Alertmanager."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specwatch_cli.detect_values import whole_file
from specwatch_cli.errors import UserError

if TYPE_CHECKING:
    from specwatch_alerts.routing import Severities

_SLACK = "http://specwatch-slack:9481/alertmanager"


def alertmanager_command(
    slack_url: Annotated[str, typer.Option(metavar="URL", help="Webhook of `specwatch slack run`.")] = _SLACK,
    slack_token_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Bearer token for that webhook: a path on Alertmanager's machine."),
    ] = None,
    pager_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Webhook of a pager, told of pages as well.")
    ] = None,
    pagerduty_key_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="PagerDuty's routing key: a path on Alertmanager's machine."),
    ] = None,
    values: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Values file of the rules, for the names of severities.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it here instead of to the standard output.")
    ] = None,
) -> None:
    """Print Alertmanager's configuration: who is told, how soon, and which alert mutes which.

    Exit status: 0, 2 for wrong usage.
    """
    # The sidecar starts through the same command line: YAML is loaded only where it is needed.
    from specwatch_alerts.alertmanager_config import RoutingError, alertmanager_yaml  # noqa: PLC0415
    from specwatch_alerts.routing import Receivers, Routing  # noqa: PLC0415

    receivers = Receivers(slack_url, slack_token_file, pager_url, pagerduty_key_file)
    try:
        text = alertmanager_yaml(Routing(receivers, _severities(values)))
    except RoutingError as error:
        raise UserError(str(error), exit_code=2) from error
    if out is None:
        typer.echo(text, nl=False)
    else:
        with whole_file(out) as file:
            file.write(text)
        typer.echo(f"wrote {out}")
    if values is None:
        known = "severities are taken as page, ticket, info; any other rings as a page"
        typer.echo(f"note: {known} (--values, if the rules were built with it)", err=True)
    if not receivers.paged:
        typer.echo("note: no pager; pages go to Slack alone (--pager-url, --pagerduty-key-file)", err=True)


def _severities(path: Path | None) -> Severities:
    from specwatch_alerts.routing import Severities  # noqa: PLC0415 - as above
    from specwatch_alerts.values import ValuesError, load_values  # noqa: PLC0415 - likewise

    try:
        values = load_values(path)
    except ValuesError as error:
        raise UserError(str(error), exit_code=2) from error
    return Severities(*(values.text(f"severities.{name}") for name in ("page", "ticket", "info")))

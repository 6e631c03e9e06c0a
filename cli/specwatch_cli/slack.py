"""`specwatch slack`: alerts as messages that people can act on."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from specwatch_cli.errors import UserError

if TYPE_CHECKING:
    from specwatch_alerts.slack.assembly import SlackReceiver
    from specwatch_alerts.slack.message import Message
    from specwatch_alerts.slack.receiver_settings import ReceiverSettings

LOG = logging.getLogger("specwatch.slack")
_LEVELS = ("debug", "info", "warning", "error")
_API = "https://slack.com/api/"

app = typer.Typer(no_args_is_help=True, help="Alerts in Slack: one message per group, edited in place.")

Channel = Annotated[
    list[str],
    typer.Option(
        "--channel", metavar="[RECEIVER=]ID", help="Channel ID for all messages; RECEIVER=ID for some; repeatable."
    ),
]
TokenFile = Annotated[
    Path, typer.Option("--token-file", metavar="FILE", help="The app's bot token (xoxb-...), read for each call.")
]
ApiUrl = Annotated[str, typer.Option("--api-url", metavar="URL", help="Slack's Web API.")]


@app.command("run")
def run_command(
    channel: Channel,
    token_file: TokenFile,
    database: Annotated[
        Path, typer.Option(metavar="FILE", help="The queue; on a disk that outlives the process, not on NFS.")
    ],
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to serve /alertmanager, /metrics, /healthz and /readyz.")
    ] = ":9481",
    webhook_token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Bearer token that Alertmanager must show.")
    ] = None,
    prometheus: Annotated[
        str, typer.Option(metavar="URL", help="Where evidence comes from; without it alerts speak for themselves.")
    ] = "",
    prometheus_token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Bearer token for Prometheus.")
    ] = None,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Attach the acceptance curve to drift alerts.")
    ] = True,
    signing_secret_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The app's signing secret; switches acting buttons on.")
    ] = None,
    interactive_listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where Slack posts button presses (/slack/interactive).")
    ] = "",
    operator: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Slack user ID that may silence and command the fallback; repeatable."),
    ] = None,
    alertmanager: Annotated[
        str, typer.Option(metavar="URL", help="Alertmanager whose API v2 silences for the silence button.")
    ] = "",
    fallback: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Configuration of a fallback controller on this machine; repeatable."),
    ] = None,
    api_url: ApiUrl = _API,
    log_level: Annotated[str, typer.Option(metavar="LEVEL", help=", ".join(_LEVELS) + ".")] = "info",
) -> None:
    """Receive Alertmanager's webhook and keep one Slack message per group of alerts.

    A delivery is answered 200 once it is on disk. What Slack has not got stays queued, over restarts and outages.
    Several receivers may share one database on one machine: one of them sends. Stops cleanly on SIGTERM and Ctrl-C.

    Exit status: 0, 1 when the database or an address cannot be used, 2 for a wrong setting.
    """
    if log_level.lower() not in _LEVELS:
        raise UserError(f"--log-level {log_level!r}: it is one of {', '.join(_LEVELS)}", exit_code=2)
    logging.basicConfig(
        level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr
    )
    _need_sdk()
    from specwatch_alerts.slack import receiver_settings  # noqa: PLC0415 - not needed for --help
    from specwatch_alerts.slack.order_desk import DeskSettings  # noqa: PLC0415 - likewise

    try:
        common, others = receiver_settings.channels(channel)
        settings = receiver_settings.ReceiverSettings(
            channel=common,
            channels=others,
            token_file=token_file,
            database=database,
            listen=receiver_settings.address("--listen", listen),
            webhook_token_file=webhook_token_file,
            prometheus=prometheus,
            prometheus_token_file=prometheus_token_file,
            pictures=pictures,
            api_url=api_url,
            signing_secret_file=signing_secret_file,
            interactive_listen=receiver_settings.address("--interactive-listen", interactive_listen)
            if interactive_listen
            else None,
            desk=DeskSettings(
                receiver_settings.operators(operator or []), alertmanager, _command_files(fallback or [])
            ),
        ).checked()
    except receiver_settings.SettingError as error:
        raise UserError(str(error), exit_code=2) from error
    _serve(settings)


@app.command("test")
def sample_command(
    channel: Annotated[str, typer.Option(metavar="ID", help="Channel ID.")] = "",
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="The app's bot token (xoxb-...).")
    ] = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="The message after the alert is over.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Draw the message here and send nothing.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --dry-run: the blocks as Slack takes them.")
    ] = False,
    api_url: ApiUrl = _API,
) -> None:
    """Send a made-up alert, to see whether token, channel and permissions are right.

    Exit status: 0, 1 when Slack refuses, 2 for a wrong setting.
    """
    from specwatch_alerts.slack.message import compose  # noqa: PLC0415 - not needed for --help
    from specwatch_alerts.slack.sample import sample_evidence, sample_group  # noqa: PLC0415 - likewise

    now = time.time()
    message = compose(sample_group(now, resolved=resolved), sample_evidence(), now)
    if dry_run:
        _draw(message, as_json=as_json)
        return
    if not channel or token_file is None:
        raise UserError("give --channel and --token-file, or --dry-run", exit_code=2)
    _send(message, channel, token_file, api_url)


def _draw(message: Message, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(message.arguments(), indent=2, ensure_ascii=False))
        return
    from specwatch_alerts.slack.block_view import render_blocks  # noqa: PLC0415 - not needed for --help

    Console().print(render_blocks(message.blocks))


def _send(message: Message, channel: str, token_file: Path, api_url: str) -> None:
    _need_sdk()
    from specwatch_alerts.slack import receiver_settings  # noqa: PLC0415 - not needed for --help
    from specwatch_alerts.slack.call_error import CallError  # noqa: PLC0415 - likewise
    from specwatch_alerts.slack.secret_file import SecretFile  # noqa: PLC0415 - likewise
    from specwatch_alerts.slack.slack_api import SlackApi  # noqa: PLC0415 - likewise

    try:
        common, _ = receiver_settings.channels([channel])
        ts = SlackApi(SecretFile(token_file, "--token-file"), api_url).post(
            common, message, f"sample:{time.time()}"
        )
    except receiver_settings.SettingError as error:
        raise UserError(str(error), exit_code=2) from error
    except CallError as error:
        raise UserError(f"Slack: {error}") from error
    typer.echo(f"Sent to {common} (ts {ts}).")


def _command_files(configurations: list[Path]) -> dict[str, Path]:
    """The command file of each controller by its model."""
    from specwatch_cli.fallback_config_file import read_config  # noqa: PLC0415 - not needed for --help
    from specwatch_detectors.fallback.operator_command import control_path  # noqa: PLC0415 - likewise

    known = [read_config(path) for path in configurations]
    return {config.model: control_path(config.audit_log) for config in known}


def _serve(settings: ReceiverSettings) -> None:
    from specwatch_alerts.slack import assembly  # noqa: PLC0415 - not needed for --help
    from specwatch_alerts.slack.database import DatabaseError  # noqa: PLC0415 - likewise
    from specwatch_alerts.slack.secret_file import SecretError  # noqa: PLC0415 - likewise
    from specwatch_exporters.sidecar.server import ListenError  # noqa: PLC0415 - likewise

    try:
        assembly.readable(
            [
                ("--token-file", settings.token_file),
                ("--webhook-token-file", settings.webhook_token_file),
                ("--signing-secret-file", settings.signing_secret_file),
                ("--prometheus-token-file", settings.prometheus_token_file),
            ]
        )
        receiver: SlackReceiver = assembly.SlackReceiver(settings)
        asyncio.run(assembly.run(receiver, _say))
    except SecretError as error:
        raise UserError(str(error), exit_code=2) from error
    except (DatabaseError, ListenError) as error:
        raise UserError(str(error)) from error


def _say(ports: list[int]) -> None:
    LOG.info("serving on port %s", " and ".join(str(port) for port in ports))


def _need_sdk() -> None:
    try:
        import slack_sdk  # noqa: F401, PLC0415 - whether it is there
    except ModuleNotFoundError as error:
        raise UserError("slack-sdk is not installed: pip install '.[slack]'", exit_code=2) from error

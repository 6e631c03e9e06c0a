"""`specwatch demo`: see it work, without a GPU."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError
from specwatch_exporters.sidecar.settings import SettingsError

_HINT = (
    "For Grafana: specwatch dashboards build --out DIR, then import the files of DIR (docs/dashboards.md).\n"
    "For Prometheus: specwatch alerts build --out rules.yml (docs/alerts.md)."
)


def demo_command(
    seconds: Annotated[
        float | None,
        typer.Option(min=5.0, help="How long. Default: 120; with --engine until Ctrl-C.", show_default=False),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Watch this engine instead of the simulated one.", show_default=False),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the fallback's audit log here, for `specwatch fallback history FILE`.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Watch a speculative engine live: acceptance by position, queue, latency.

    Without --engine a simulated vLLM is started: real queueing on 16 slots, step times measured on an H200, a
    change of traffic that is no reason for a page, and a draft that goes stale with a deploy. The controller moves
    the traffic to an n-gram engine, and back once a matching draft is rolled out. Ctrl-C leaves nothing running.
    """
    if history is not None and history.exists():
        raise UserError(
            f"--history {history}: it exists already, and the demonstration begins a new log", exit_code=2
        )
    logging.getLogger("specwatch").addHandler(logging.NullHandler())
    logging.getLogger("specwatch").propagate = False
    from specwatch_deploy.demo_alert import DemoAlert  # noqa: PLC0415 - likewise
    from specwatch_deploy.demo_fallback import DemoFallback  # noqa: PLC0415 - heavy, and only for this command
    from specwatch_detectors.demo_watch import demo_watch  # noqa: PLC0415 - likewise
    from specwatch_exporters.demo.run import run_demo  # noqa: PLC0415 - brings aiohttp, which only the demo needs

    try:
        run_demo(
            engine,
            seconds,
            judges=demo_watch,
            fallback=DemoFallback(),
            log=history,
            alert=DemoAlert().look,
            hint=_HINT,
        )
    except SettingsError as error:
        raise UserError(str(error), exit_code=2) from error
    except OSError as error:
        raise UserError(f"cannot start: {error.strerror or error}") from error

"""`specwatch fallback run`: the controller."""

from __future__ import annotations

import logging
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specwatch_cli.errors import UserError
from specwatch_cli.fallback_config_file import CONFIG, read_config
from specwatch_cli.fallback_levers import leader, levers
from specwatch_cli.signals import block_signals, wait_for_stop
from specwatch_exporters.sidecar import setting_values

if TYPE_CHECKING:
    from specwatch_detectors.fallback.controller_loop import ControllerLoop
    from specwatch_detectors.fallback.fallback_config import FallbackConfig

LOG = logging.getLogger("specwatch.fallback")
DEFAULT_LISTEN = ":9480"
_LEVELS = ("debug", "info", "warning", "error")


def run_command(
    config: Annotated[Path, CONFIG],
    act: Annotated[bool, typer.Option("--act", help="Move traffic; without it nothing is moved.")] = False,
    listen: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Where to serve /metrics, /healthz, /readyz and /status.json."),
    ] = DEFAULT_LISTEN,
    once: Annotated[bool, typer.Option("--once", help="One round, print the status, and end.")] = False,
    log_level: Annotated[str, typer.Option(metavar="LEVEL", help=", ".join(_LEVELS) + ".")] = "info",
) -> None:
    """Look after one model: leave a drafter that does not pay, probe it, and come back.

    A dry run unless --act is given: the exact plan is logged and nothing is changed. Every decision is in the audit
    log before anything is done, so that a controller that was killed goes on where it was. Stops cleanly on SIGTERM
    and Ctrl-C; a movement under way is gone on with by the next start.

    Exit status: 0, 1 when the address (with --once: the audit log) cannot be used, 2 for a wrong configuration.
    """
    if log_level.lower() not in _LEVELS:
        raise UserError(f"--log-level {log_level!r}: it is one of {', '.join(_LEVELS)}", exit_code=2)
    level = "ERROR" if once and log_level == "info" else log_level.upper()
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    known = read_config(config)
    loop = _loop(known, acting=act)
    if once:
        _once(loop)
    else:
        _run(loop, listen, known, acting=act)


def _loop(config: FallbackConfig, *, acting: bool) -> ControllerLoop:
    from specwatch_detectors.fallback import fallback_assembly  # noqa: PLC0415 - not needed for --help
    from specwatch_detectors.fallback.actuator import ActuatorError  # noqa: PLC0415 - likewise
    from specwatch_detectors.fallback.controller_loop import ControllerLoop  # noqa: PLC0415 - likewise

    try:
        leadership = None if config.leader_table is None else leader(config.leader_table)
        series = fallback_assembly.make_series(config)
        lever = fallback_assembly.make_lever(config, levers(leadership, config, series))
        source = fallback_assembly.make_source(config, series)
        controller = fallback_assembly.make_controller(
            config, lever, source, time.time, acting=acting, leadership=leadership
        )
    except ModuleNotFoundError as error:
        extra = "kube" if error.name == "kubernetes" else "detect"
        raise UserError(f"{error.name} is not installed: pip install '.[{extra}]'", exit_code=2) from error
    except (ActuatorError, ValueError) as error:
        raise UserError(str(error), exit_code=2) from error
    return ControllerLoop(controller, config.interval_s)


def _once(loop: ControllerLoop) -> None:
    from specwatch_cli.fallback_status_view import print_status  # noqa: PLC0415 - for --once only

    view = loop.once()
    loop.close()
    if "audit" in view.troubles:
        raise UserError(view.troubles["audit"])
    print_status(loop.status(view), time.time())


def _run(loop: ControllerLoop, listen: str, config: FallbackConfig, *, acting: bool) -> None:
    from specwatch_exporters.sidecar.server import serve_site  # noqa: PLC0415 - not for --once

    block_signals(accepting=False)  # before any thread starts: they inherit the mask
    try:
        server = serve_site(setting_values.listen(listen), loop.site())
    except OSError as error:
        raise UserError(f"cannot listen on {listen}: {error.strerror or error}") from error
    except ValueError as error:
        raise UserError(f"--listen {listen}: {error}", exit_code=2) from error
    mode = "acting" if acting else "dry run: nothing is moved without --act"
    LOG.info("%s: lever %s, %s, serving on port %d", config.model, config.lever, mode, server.port)
    stop = threading.Event()
    thread = threading.Thread(target=loop.run, args=(stop,), name="specwatch-fallback", daemon=True)
    thread.start()
    wait_for_stop()
    stop.set()
    thread.join()
    server.close()
    loop.close()

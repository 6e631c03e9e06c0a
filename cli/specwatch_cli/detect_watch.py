"""`specwatch detect watch`: one verdict per model over a whole fleet, out of Prometheus."""

from __future__ import annotations

import logging
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specwatch_cli.errors import UserError
from specwatch_cli.signals import block_signals, wait_for_stop
from specwatch_exporters.sidecar import setting_values

if TYPE_CHECKING:
    from specwatch_detectors.watch.watch_settings import WatchSettings
    from specwatch_detectors.watch.watcher import Watcher

LOG = logging.getLogger("specwatch.watch")
_LEVELS = ("debug", "info", "warning", "error")


def _flag(name: str, value: str, text: str) -> Any:
    return typer.Option(name, metavar=value, help=text)


def watch_command(
    prometheus: Annotated[
        str, _flag("--prometheus", "URL", "API, without /api/v1: Prometheus, Thanos, Mimir, ...")
    ],
    state: Annotated[
        str | None, _flag("--state", "WHERE", "File, or configmap:NAMESPACE/NAME, that keeps state and lease.")
    ] = None,
    profile: Annotated[
        Path | None, _flag("--profile", "FILE", "Calibrations, as `specwatch detect calibrate` writes them.")
    ] = None,
    match: Annotated[str, _flag("--match", "MATCHERS", 'Label matchers, such as namespace="llm".')] = "",
    pod_label: Annotated[
        list[str] | None,
        _flag("--pod-label", "NAME", "Label that tells pods apart; may repeat. Without: all labels of the target."),
    ] = None,
    replica_label: Annotated[
        list[str] | None,
        _flag(
            "--replica-label", "NAME", "Label of replicas of one Prometheus; may repeat. Without: the usual ones."
        ),
    ] = None,
    interval: Annotated[str, _flag("--interval", "DURATION", "Length of a tick: the scrape interval.")] = "10s",
    delay: Annotated[
        str, _flag("--delay", "DURATION", "Age at which samples are complete: the scrape timeout or more.")
    ] = "10s",
    since: Annotated[str, _flag("--since", "DURATION", "History to begin with where no state is kept.")] = "1h",
    stale_after: Annotated[
        str, _flag("--stale-after", "DURATION", "Age of a model's last drafts from which nothing can be told.")
    ] = "5m",
    pages: Annotated[float, _flag("--pages", "N", "False pages allowed in 30 days, per model.")] = 1.0,
    header: Annotated[list[str] | None, _flag("--header", "'NAME: VALUE'", "Header to send; may repeat.")] = None,
    tenant: Annotated[str | None, _flag("--tenant", "ID", "Tenant of Mimir or Cortex (X-Scope-OrgID).")] = None,
    token_file: Annotated[Path | None, _flag("--token-file", "FILE", "Bearer token; read again each time.")] = None,
    ca_file: Annotated[Path | None, _flag("--ca-file", "FILE", "Authorities to trust over https.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Trust any certificate.")] = False,
    timeout: Annotated[str, _flag("--timeout", "DURATION", "Silence after which an answer is given up.")] = "30s",
    listen: Annotated[
        str, _flag("--listen", "ADDRESS", "Where to serve /metrics, /healthz, /readyz and /status.json.")
    ] = ":9479",
    once: Annotated[bool, typer.Option("--once", help="Catch up, print the verdicts, and end.")] = False,
    output: Annotated[str, _flag("--format", "table|json", "How to print with --once.")] = "table",
    log_level: Annotated[str, _flag("--log-level", "LEVEL", ", ".join(_LEVELS) + ".")] = "info",
) -> None:
    """Watch a fleet: sum all pods per model and traffic class, and say when a draft no longer fits.

    Raw samples are read, so that a pod that restarts, appears or goes is neither a jump nor a drop. With --state it
    goes on to the same verdicts as without a break. Stops cleanly on SIGTERM and Ctrl-C.

    Exit status: 0, 1 when Prometheus does not answer or has no counts (--once) or the address is taken, 2 for wrong
    usage.
    """
    if output not in {"table", "json"} or log_level.lower() not in _LEVELS:
        raise UserError(f"--format is table or json, --log-level {', '.join(_LEVELS)}", exit_code=2)
    level = "ERROR" if once and log_level == "info" else log_level.upper()
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("specwatch.drift").setLevel("WARNING" if once else level)  # what is not used, and why
    settings, watcher = _watcher(locals())
    if once:
        _once(watcher, output)
    else:
        _run(watcher, listen, settings)


def _watcher(values: dict[str, Any]) -> tuple[WatchSettings, Watcher]:
    try:
        from specwatch_detectors.watch import watch_flags, watch_settings  # noqa: PLC0415 - not needed for --help
        from specwatch_detectors.watch.prometheus_source import PrometheusSource  # noqa: PLC0415 - an extra
        from specwatch_detectors.watch.store import StoreError  # noqa: PLC0415 - not needed for --help

        settings = watch_flags.flags_of(values).settings()
        store = watch_settings.make_store(settings.state)
    except ModuleNotFoundError as error:
        extra = "kube" if error.name == "kubernetes" else "detect"
        raise UserError(f"{error.name} is not installed: pip install '.[{extra}]'", exit_code=2) from error
    except (StoreError, ValueError) as error:
        raise UserError(str(error), exit_code=2) from error
    try:
        watch_settings.check_store(store)
        return settings, watch_settings.make_watcher(settings, PrometheusSource(settings.address), store, time.time)
    except (StoreError, ValueError) as error:
        raise UserError(str(error), exit_code=2) from error


def _once(watcher: Watcher, output: str) -> None:
    from specwatch_cli.detect_watch_view import print_readings  # noqa: PLC0415 - for --once only
    from specwatch_detectors.watch.readings_json import readings_json  # noqa: PLC0415 - likewise

    readings = watcher.round()
    while watcher.behind:
        readings = watcher.round()
    ready, reason = watcher.ready()
    watcher.close()
    if not ready:
        raise UserError(reason)
    if output == "json":
        typer.echo(readings_json(readings))
    elif readings:
        print_readings(readings)
    if not readings:
        raise UserError("no model has counts of drafts in that time: is a sidecar scraped, does --match fit?")


def _run(watcher: Watcher, listen: str, settings: WatchSettings) -> None:
    from specwatch_detectors.watch.watch_site import watch_site  # noqa: PLC0415 - not for --once
    from specwatch_exporters.sidecar.server import serve_site  # noqa: PLC0415 - likewise

    block_signals(accepting=True)  # before any thread starts: they inherit the mask
    try:
        server = serve_site(setting_values.listen(listen), watch_site(watcher))
    except OSError as error:
        raise UserError(f"cannot listen on {listen}: {error.strerror or error}") from error
    except ValueError as error:
        raise UserError(f"--listen {listen}: {error}", exit_code=2) from error
    if settings.state is None:
        LOG.warning("no --state: a restart begins anew, and a second watch goes unnoticed")
    LOG.info("watching %s, serving on port %d", settings.address.shown, server.port)
    stop = threading.Event()
    thread = threading.Thread(target=watcher.run, args=(stop, settings.grid), name="specwatch-watch", daemon=True)
    thread.start()
    wait_for_stop(watcher.accept)
    stop.set()
    thread.join()
    server.close()
    watcher.close()

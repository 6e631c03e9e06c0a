"""`specwatch exporter`: the scrape sidecar."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specwatch_cli.errors import UserError
from specwatch_cli.flags import flag
from specwatch_cli.signals import block_signals, wait_for_stop
from specwatch_exporters.sidecar.options import BY_FLAG
from specwatch_exporters.sidecar.settings import SettingsError, SidecarSettings, load, unknown_variables

if TYPE_CHECKING:
    from specwatch_detectors.sidecar_watch import SidecarWatch

app = typer.Typer(no_args_is_help=True, help="The scrape sidecar beside an engine.")


def _flag(name: str) -> Any:
    option = BY_FLAG[name]
    return flag(option, negatable=not option.value)


@app.command("run")
def run_command(
    engine: Annotated[str | None, _flag("--engine")] = None,
    engine_kind: Annotated[str | None, _flag("--engine-kind")] = None,
    listen: Annotated[str | None, _flag("--listen")] = None,
    interval: Annotated[str | None, _flag("--interval")] = None,
    timeout: Annotated[str | None, _flag("--timeout")] = None,
    stale_after: Annotated[str | None, _flag("--stale-after")] = None,
    speculation_method: Annotated[str | None, _flag("--speculation-method")] = None,
    num_speculative_tokens: Annotated[str | None, _flag("--num-speculative-tokens")] = None,
    model: Annotated[str | None, _flag("--model")] = None,
    max_models: Annotated[str | None, _flag("--max-models")] = None,
    bearer_token_file: Annotated[str | None, _flag("--bearer-token-file")] = None,
    ca_file: Annotated[str | None, _flag("--ca-file")] = None,
    insecure: Annotated[bool | None, _flag("--insecure")] = None,
    drift: Annotated[bool | None, _flag("--drift")] = None,
    drift_profile: Annotated[str | None, _flag("--drift-profile")] = None,
    drift_state: Annotated[str | None, _flag("--drift-state")] = None,
    payoff_profile: Annotated[str | None, _flag("--payoff-profile")] = None,
    request_metrics: Annotated[str | None, _flag("--request-metrics")] = None,
    log_level: Annotated[str | None, _flag("--log-level")] = None,
) -> None:
    """Scrape one engine and serve what it means: /metrics, /healthz, /readyz, and a status page at /.

    Every flag has a variable; the flag wins. Stops cleanly on SIGTERM and Ctrl-C. SIGUSR1 says that what the engine
    does now is the new normal: baselines of acceptance and latency are learned again.
    """
    flags = {name: _text(value) for name, value in locals().items() if value is not None}
    try:
        settings = load(flags, os.environ)
    except SettingsError as error:
        raise UserError(str(error), exit_code=2) from error
    logging.basicConfig(
        level=settings.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        stream=sys.stderr,
    )
    from specwatch_exporters.sidecar.run import Sidecar  # noqa: PLC0415 - starts nothing until it is needed

    block_signals(accepting=True)  # before any thread starts: they inherit the mask
    try:
        watch = _watch(settings)
    except ValueError as error:
        raise UserError(str(error), exit_code=2) from error
    sidecar = Sidecar(settings, watcher=watch)
    try:
        sidecar.start()
    except OSError as error:
        raise UserError(f"cannot listen on {settings.listen}: {error.strerror or error}") from error
    for name in unknown_variables(os.environ):
        logging.getLogger("specwatch").warning("%s is set, and no setting has that name", name)
    logging.getLogger("specwatch").info(
        "scraping %s every %gs, serving on port %d", settings.engine.display, settings.interval_s, sidecar.port
    )
    wait_for_stop(_nothing_to_accept if watch is None else watch.accept)
    sidecar.stop()
    if watch is not None:
        watch.close()


def _watch(settings: SidecarSettings) -> SidecarWatch | None:
    if not settings.drift:
        return None
    from specwatch_detectors.sidecar_assembly import sidecar_watch  # noqa: PLC0415 - 2 MiB that not all want

    return sidecar_watch(settings)


def _nothing_to_accept() -> None:
    logging.getLogger("specwatch").warning("SIGUSR1: no detectors run here, there is no baseline to learn again")


def _text(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else value

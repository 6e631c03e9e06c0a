"""`specwatch proxy`: the request sidecar."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated, Any

import typer

from specwatch_cli.errors import UserError
from specwatch_cli.flags import flag
from specwatch_cli.signals import block_signals, on_another_stop, wait_for_stop
from specwatch_exporters.proxy.options import BY_FLAG
from specwatch_exporters.sidecar.settings import SettingsError

app = typer.Typer(no_args_is_help=True, help="The request sidecar in front of an engine.")


def _flag(name: str) -> Any:
    return flag(BY_FLAG[name])


@app.command("run")
def run_command(
    upstream: Annotated[list[str] | None, _flag("--upstream")] = None,
    pools: Annotated[str | None, _flag("--pools")] = None,
    pool_state: Annotated[str | None, _flag("--pool-state")] = None,
    admin_token_file: Annotated[str | None, _flag("--admin-token-file")] = None,
    pool_control: Annotated[bool, _flag("--pool-control")] = False,
    listen: Annotated[str | None, _flag("--listen")] = None,
    admin_listen: Annotated[str | None, _flag("--admin-listen")] = None,
    request_usage: Annotated[bool, _flag("--request-usage")] = False,
    class_rules: Annotated[str | None, _flag("--class-rules")] = None,
    classifier: Annotated[str | None, _flag("--classifier")] = None,
    speculation_method: Annotated[str | None, _flag("--speculation-method")] = None,
    model: Annotated[str | None, _flag("--model")] = None,
    max_body: Annotated[str | None, _flag("--max-body")] = None,
    max_connections: Annotated[str | None, _flag("--max-connections")] = None,
    rewrite_host: Annotated[bool, _flag("--rewrite-host")] = False,
    ca_file: Annotated[str | None, _flag("--ca-file")] = None,
    insecure: Annotated[bool, _flag("--insecure")] = False,
    drain: Annotated[str | None, _flag("--drain")] = None,
    log_level: Annotated[str | None, _flag("--log-level")] = None,
) -> None:
    """Pass every request on, unchanged, and measure each: acceptance, queue wait, latency by class.

    All go to one engine, or each to one of several pools by their weights. Every flag has a variable; the flag
    wins. On SIGTERM and Ctrl-C answers under way may finish; a second one cuts them off.
    """
    given = {**locals(), "upstream": " ".join(upstream) if upstream else None}
    flags = {name: value for name, value in given.items() if value is not None}
    from specwatch_exporters.proxy.descriptor_limit import raise_descriptor_limit  # noqa: PLC0415 - for this command
    from specwatch_exporters.proxy.settings import load  # noqa: PLC0415 - its parts are for this command only

    raise_descriptor_limit()
    try:
        settings = load(flags, os.environ)
    except SettingsError as error:
        raise UserError(str(error), exit_code=2) from error
    logging.basicConfig(
        level=settings.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        stream=sys.stderr,
    )
    from prometheus_client import disable_created_metrics  # noqa: PLC0415 - likewise

    from specwatch_exporters.proxy.run import RequestSidecar  # noqa: PLC0415 - likewise

    disable_created_metrics()  # they double the counters and say nothing that a reset does not
    block_signals(accepting=False)  # before any thread starts: they inherit the mask
    try:
        sidecar = RequestSidecar(settings)
        sidecar.start()
    except SettingsError as error:
        raise UserError(str(error), exit_code=2) from error
    except OSError as error:
        raise UserError(str(error)) from error
    logging.getLogger("specwatch").info(
        "passing requests from port %d on to %s, metrics on port %d",
        sidecar.port,
        settings.display,
        sidecar.admin_port,
    )
    wait_for_stop()
    on_another_stop(sidecar.hurry)
    sidecar.stop()

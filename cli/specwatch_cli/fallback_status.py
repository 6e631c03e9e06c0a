"""`specwatch fallback status`: which level is in force, why, and what would change it."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer

from specwatch_cli.errors import UserError
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import FetchError

TIMEOUT_S = 10.0


def status_command(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Where `specwatch fallback run` serves.")
    ] = "http://127.0.0.1:9480",
    output: Annotated[str, typer.Option("--format", metavar="table|json", help="How to print it.")] = "table",
) -> None:
    """Ask a running controller: level, reason, what would change it, and the next probe.

    Exit status: 0, 1 when no controller answers, 2 for wrong usage.
    """
    if output not in {"table", "json"}:
        raise UserError("--format is table or json", exit_code=2)
    body = _ask(url)
    if output == "json":
        typer.echo(json.dumps(body, indent=1))
        return
    from specwatch_cli.fallback_status_view import print_status  # noqa: PLC0415 - not for json

    try:
        print_status(body, time.time())
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{url} gives a status of another version of specwatch: {error!r}") from error


def _ask(url: str) -> dict[str, Any]:
    address = url.rstrip("/")
    address = address if address.endswith("/status.json") else f"{address}/status.json"
    try:
        body = json.loads(fetch(address, timeout_s=TIMEOUT_S, headers={"Accept": "application/json"}).body)
    except FetchError as error:
        raise UserError(f"no controller answers: {error.message}") from error
    except ValueError as error:
        raise UserError(f"{address} gives no status of a controller: it is no JSON") from error
    if not isinstance(body, dict) or "changes_when" not in body:
        raise UserError(f"{address} gives no status of a fallback controller; is it another part of specwatch?")
    return body

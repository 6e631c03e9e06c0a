"""`specwatch fallback history`: the audit log as a story."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError
from specwatch_cli.fallback_config_file import read_config


def history_command(
    log: Annotated[
        Path | None, typer.Argument(metavar="[LOG]", help="Audit log; its full files beside it are read too.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Take the log from this configuration.")
    ] = None,
    rounds: Annotated[bool, typer.Option("--all", help="Rounds in which nothing was done, too.")] = False,
    steps: Annotated[bool, typer.Option("--steps/--no-steps", help="The steps of each movement.")] = True,
    last: Annotated[int, typer.Option(metavar="N", help="The last N lines only; 0 for all.", min=0)] = 0,
    output: Annotated[
        str, typer.Option("--format", metavar="text|json", help="json: entries, a line each.")
    ] = "text",
) -> None:
    """Tell what was decided and done, and why, in plain words.

    Exit status: 0, 1 when the log cannot be read or is empty, 2 for wrong usage.
    """
    if output not in {"text", "json"}:
        raise UserError("--format is text or json", exit_code=2)
    path = log if log is not None else None if config is None else read_config(config).audit_log
    if path is None:
        raise UserError("name the audit log, or --config", exit_code=2)
    from specwatch_detectors.fallback.audit_log import AuditError, read_log  # noqa: PLC0415 - not for --help
    from specwatch_detectors.fallback.audit_words import story, summary  # noqa: PLC0415 - likewise

    try:
        found = read_log(path)
    except AuditError as error:
        raise UserError(str(error)) from error
    whole = summary(found.entries, found.damaged)
    if whole is None:
        hint = "" if not found.damaged else "; is it an audit log? A configuration is given with --config"
        raise UserError(f"{path} holds no entries{hint}" if path.exists() else f"{path}: there is no such file")
    if output == "json":
        kept = [entry for entry in found.entries if rounds or entry.get("kind") != "round"]
        for entry in kept[-last:]:
            typer.echo(json.dumps(entry))
        return
    from specwatch_cli.fallback_history_view import print_story  # noqa: PLC0415 - not for json

    lines = [line for line in story(found.entries, rounds=rounds) if steps or not line.detail]
    print_story(lines[-last:], whole)

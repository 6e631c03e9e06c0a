"""`specwatch fallback unlatch`, `return` and `leave`: what a person tells the controller."""

from __future__ import annotations

import getpass
import os
import time
import uuid
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError
from specwatch_cli.fallback_config_file import CONFIG, read_config


def unlatch_command(config: Annotated[Path, CONFIG]) -> None:
    """Allow switching again after too many switches in a day: you have looked.

    Left in a file beside the audit log; the controller obeys in its next round and writes it down.
    """
    _give("unlatch", config)


def return_command(config: Annotated[Path, CONFIG]) -> None:
    """Bring all of the traffic home, step by step, without waiting for probes.

    Left in a file beside the audit log; the controller obeys in its next round and writes it down.
    """
    _give("return", config)


def leave_command(config: Annotated[Path, CONFIG]) -> None:
    """Send all of the traffic one level down, step by step, whether it pays or not; probes bring it home.

    Refused while the controller is latched, sees old data or moving pods, or has made the day's switches. Left in a
    file beside the audit log; the controller obeys in its next round and writes it down.
    """
    _give("leave", config)


def _give(order: str, config: Path) -> None:
    from specwatch_detectors.fallback import operator_command  # noqa: PLC0415 - not needed for --help

    known = read_config(config)
    path = operator_command.control_path(known.audit_log)
    command = operator_command.Command(uuid.uuid4().hex, operator_command.Order(order), time.time(), _who())
    try:
        operator_command.give(path, command)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    typer.echo(f"Left for the controller, which looks every {known.interval_s:g} s. See: specwatch fallback status")


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"

"""What a person tells the controller, through a file beside the audit log: whoever may write there may do so."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 4096
EXPIRES_S: Final = 600.0
"""Age from which a command is not obeyed: it was meant for another situation."""


class Order(StrEnum):
    """What can be told."""

    UNLATCH = "unlatch"
    RETURN = "return"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        identity: no two commands have the same.
        order: what to do.
        at: when it was given, epoch seconds.
        by: who gave it, for the audit log.
    """

    identity: str
    order: Order
    at: float
    by: str


def control_path(audit_log: Path) -> Path:
    """The file through which the controller of an audit log is told."""
    return audit_log.with_name(f"{audit_log.name}.command")


def give(path: Path, command: Command) -> None:
    """Leave a command for the controller, over one that it has not read yet.

    Raises:
        OSError: the file cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    body = {"identity": command.identity, "order": command.order.value, "at": command.at, "by": command.by}
    with new.open("w", encoding="utf-8") as file:
        json.dump(body, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def given(path: Path) -> Command | None:
    """The command that was left, or None.

    Raises:
        ValueError: the file cannot be read, or holds something else; one line.
    """
    try:
        with path.open("rb") as file:
            body = json.loads(file.read(MAX_BYTES))
        return Command(str(body["identity"]), Order(body["order"]), float(body["at"]), str(body["by"]))
    except FileNotFoundError:
        return None
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no command: {error}") from error

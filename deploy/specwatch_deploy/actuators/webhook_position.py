"""Where a webhook's lever is: as its owner tells it, or as it was answered last and kept in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specwatch_deploy.actuators.movement import checked_shares
from specwatch_detectors.fallback.actuator import ActuatorError, Health, Position
from specwatch_detectors.fallback.level import Level
from specwatch_exporters.json_text import decode

_UNTOLD: Final = Health(ok=False, reason="the webhook's owner does not say how the traffic does", known=False)


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of the lever.

    Attributes:
        position: where it is.
        movement: identity of the last movement, or empty.
        health: as its owner judges it.
    """

    position: Position
    movement: str = ""
    health: Health = _UNTOLD


def told(body: Any, levels: Sequence[Level], where: str) -> Told:
    """What an answer or a file says.

    Args:
        body: as JSON: `shares` by level, and if known `settled`, `foreign`, `note`, `movement`, and `health` with
            `ok`, `reason` and `known`.
        levels: that there are.
        where: it comes from, for messages.

    Raises:
        ActuatorError: it says no position.
    """
    try:
        shares = checked_shares({Level(name): float(share) for name, share in body["shares"].items()}, levels)
        kept = {level: share for level, share in shares.items() if share > 0.0}
        position = Position(kept, body.get("settled", True) is True, _text(body, "foreign"), _text(body, "note"))
        return Told(position, _text(body, "movement"), *_health(body.get("health")))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ActuatorError(f"{where} tells no shares of {', '.join(levels)}", retry=False) from error


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name, "")
    text = value if isinstance(value, str) else ""
    return "".join(letter for letter in text if letter.isprintable())[:200]


def _health(body: Any) -> tuple[Health, ...]:
    if not isinstance(body, Mapping):
        return ()
    reason = _text(body, "reason") or "the webhook's owner gives no reason"
    return (Health(body.get("ok") is True, reason, known=body.get("known", True) is True),)


class KeptPosition:
    """A file with the last answered position, for a webhook that cannot be asked.

    Args:
        path: of the file; its directory must exist.
        start: level that has everything before the first movement.
        levels: that there are.
    """

    def __init__(self, path: Path, start: Level, levels: Sequence[Level]) -> None:
        self._path = path
        self._start = start
        self._levels = tuple(levels)

    def read(self) -> Told:
        """Where the lever is.

        Raises:
            ActuatorError: the file cannot be read, or is none of these.
        """
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return Told(Position({self._start: 1.0}, settled=True))
        except OSError as error:
            raise ActuatorError(f"{self._path} cannot be read: {error.strerror}", retry=False) from error
        return told(decode(text), self._levels, str(self._path))

    def write(self, shares: Mapping[str, float], movement: str) -> None:
        """Keep a position, whole or not at all.

        Raises:
            ActuatorError: the file cannot be written.
        """
        partial = self._path.with_name(self._path.name + ".partial")
        try:
            with partial.open("w") as out:
                json.dump({"shares": dict(shares), "movement": movement}, out)
                out.flush()
                os.fsync(out.fileno())
            partial.replace(self._path)
        except OSError as error:
            raise ActuatorError(f"{self._path} cannot be written: {error.strerror}", retry=False) from error

"""What one alert of a delivery means against what is known of it: something new, or heard before.

Alertmanager repeats: after `repeat_interval`, after an answer that was lost, and from each member of a cluster. The
same fingerprint, start and status is therefore said once. Two traps lie in that rule, and times decide them:

- Members of a cluster may deliver late, so that *firing* comes after *resolved* of the same occurrence.
- An alert that Alertmanager ended by itself, because Prometheus was out of reach, fires again with the start that
  it had. One Alertmanager notifies a group at most once per `group_interval` (minutes), members of a cluster wait
  seconds for each other: within `LATE_S` of the resolution it is a late repetition, afterwards it fires again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specwatch_alerts.slack.payload import Alert, Status

LATE_S: Final = 60.0
"""Seconds after a resolution in which the same occurrence's firing is a repetition; keep group_interval above."""


class Turn(StrEnum):
    """What an alert brings."""

    NOTHING = "nothing"
    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of an alert.

    Attributes:
        status: firing or resolved.
        starts_at: epoch seconds.
        ends_at: epoch seconds of its last end, kept while it fires again; None before the first.
        heard: when its last turn arrived, epoch seconds.
    """

    status: Status
    starts_at: float
    ends_at: float | None
    heard: float


def turn(held: Held | None, alert: Alert, now: float) -> Turn:
    """What `alert`, arriving at `now`, brings beyond what is held."""
    if held is None:
        return Turn(alert.status.value)
    if alert.status is Status.FIRING:
        return Turn.FIRING if _fires_again(held, alert, now) else Turn.NOTHING
    return Turn.RESOLVED if _ends(held, alert) else Turn.NOTHING


def _fires_again(held: Held, alert: Alert, now: float) -> bool:
    if held.status is Status.FIRING:
        return False
    ended = held.starts_at if held.ends_at is None else held.ends_at
    return alert.starts_at > max(ended, held.starts_at) or now - held.heard > LATE_S


def _ends(held: Held, alert: Alert) -> bool:
    """Alertmanager may have moved the start of a firing alert back, so its end decides."""
    if held.status is Status.FIRING:
        if alert.ends_at is not None and held.ends_at is not None and alert.ends_at <= held.ends_at:
            return False  # the end before it fired again
        return alert.ends_at is None or alert.ends_at >= held.starts_at or alert.starts_at >= held.starts_at
    return alert.starts_at > (held.starts_at if held.ends_at is None else max(held.ends_at, held.starts_at))

"""How messages are sent."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


def _jitter() -> float:
    return random.uniform(0.8, 1.2)  # noqa: S311 - spreads retries, keeps no secret


@dataclass(frozen=True, slots=True)
class SenderSettings:
    """All of it.

    Attributes:
        default_channel: ID of the channel that messages go to.
        channels: IDs by Alertmanager's receiver, for those that go elsewhere.
        offered: actions that have a button.
        pictures: whether to attach a picture to drift alerts.
        pace_s: seconds between two calls. Slack takes one message a second per channel, and 50 edits a minute.
        update_every_s: seconds between two edits of one message; what happens meanwhile is one edit.
        settle_s: seconds after a post of unknown outcome before its channel is searched for it.
        idle_s: seconds between two looks at an empty queue; a new alert does not wait for it.
        jitter: factor by which pauses differ.
    """

    default_channel: str
    channels: Mapping[str, str] = field(default_factory=dict)
    offered: frozenset[str] = frozenset()
    pictures: bool = True
    pace_s: float = 1.2
    update_every_s: float = 5.0
    settle_s: float = 5.0
    idle_s: float = 5.0
    jitter: Callable[[], float] = _jitter

    def channel(self, receiver: str) -> str:
        """Where messages of a receiver go."""
        return self.channels.get(receiver, self.default_channel)

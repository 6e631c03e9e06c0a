"""Who watches: a lease in the store, so that two watches of one fleet do not both alarm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

DURATION_S: Final = 90.0


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim to be the one that watches.

    Attributes:
        holder: who; empty for a lease that was given back.
        renewed: epoch seconds, by the holder's clock.
        duration_s: how long it holds without being renewed.
    """

    holder: str = ""
    renewed: float = 0.0
    duration_s: float = DURATION_S

    def blocks(self, holder: str, now: float) -> bool:
        """Whether it keeps somebody else from watching.

        It holds for twice its duration by the clock of whoever asks, because clocks of machines differ.
        """
        return bool(self.holder) and self.holder != holder and now - self.renewed <= 2 * self.duration_s

    def as_json(self) -> dict[str, Any]:
        """As JSON; `from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: Any) -> Lease:
        """Read what `as_json` wrote; anything else is a lease that nobody holds."""
        try:
            lease = cls(str(body["holder"]), float(body["renewed"]), float(body["duration_s"]))
        except (KeyError, TypeError, ValueError):
            return cls()
        return lease if math.isfinite(lease.renewed) and lease.duration_s > 0.0 else cls()


@dataclass(frozen=True, slots=True)
class Kept:
    """What a store holds.

    Attributes:
        state: of the watch, or None if there is none yet.
        lease: of the one that watches.
    """

    state: Mapping[str, Any] | None
    lease: Lease


class LeaseSight:
    """Remembers since when a lease has not been renewed, by the clock of whoever looks on."""

    def __init__(self) -> None:
        self._lease: Lease | None = None
        self._since = 0.0

    def blocks(self, lease: Lease, holder: str, now: float) -> bool:
        """Whether somebody else's lease still holds.

        Args:
            lease: as the store has it now.
            holder: who asks.
            now: epoch seconds.
        """
        if lease != self._lease:
            self._lease, self._since = lease, now
        return lease.blocks(holder, now) and now - self._since <= lease.duration_s

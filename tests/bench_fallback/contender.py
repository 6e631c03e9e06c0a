"""What a way of falling back sees and may do, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bench_fallback.fleet import Fleet
from bench_fallback.lever import Lever


class Kind(StrEnum):
    """Kinds of orders."""

    MOVE = "move"
    PROBE = "probe"
    END_PROBE = "end_probe"
    LATCH = "latch"


@dataclass(frozen=True)
class Order:
    """What to do now.

    Attributes:
        kind: of it.
        level: place in `steps.LEVELS` to move to; of another kind the level that stays.
        reason: why.
        staged: 5 %, 25 %, all, with a look in between.
    """

    kind: Kind
    level: int
    reason: str = ""
    staged: bool = False


@dataclass(frozen=True)
class Seen:
    """Counts of one level in one round, as Prometheus would have them.

    Attributes:
        drafts: draft steps.
        accepted: by position.
        request_steps: steps times requests.
        requests: finished.
        batch: mean running batch of a pod.
        prompt_per_output: prompt tokens computed per output token.
        pods: that served.
    """

    drafts: float
    accepted: tuple[float, ...]
    request_steps: float
    requests: float
    batch: float
    prompt_per_output: float
    pods: int

    @property
    def rate(self) -> float:
        """Accepted tokens per draft token."""
        return sum(self.accepted) / (len(self.accepted) * self.drafts) if self.drafts else 0.0


@dataclass(frozen=True)
class View:
    """One round.

    Attributes:
        now: seconds.
        tick: number of the last tick.
        inside: counts by level as the engines themselves know them; None where no pod served.
        outage: nothing can be measured.
        rollout: pods are being replaced.
        adapts: the engine adapts by itself.
        revision: of the draft.
    """

    now: float
    tick: int
    inside: tuple[Seen | None, ...]
    outage: bool
    rollout: bool
    adapts: bool
    revision: int

    @property
    def seen(self) -> tuple[Seen | None, ...]:
        """What Prometheus has; nothing during an outage."""
        return (None,) * len(self.inside) if self.outage else self.inside


class Contender(Protocol):
    """One way of falling back."""

    @property
    def name(self) -> str:
        """For the tables."""

    @property
    def lever(self) -> Lever:
        """What it moves pods with."""

    def round(self, view: View, fleet: Fleet) -> Order | None:
        """What to do now, if anything."""

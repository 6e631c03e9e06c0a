"""What Prometheus says about the model of an alert, then and now; each figure may be unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Pair(NamedTuple):
    """A figure before the alert and now; None is unknown."""

    name: str
    before: float | None
    now: float | None


class Payoff(NamedTuple):
    """Speed-up of speculation with its 95 % bounds at one batch size; below 1 it makes the engine slower."""

    batch: str
    lower: float | None
    estimate: float
    upper: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All of it.

    Attributes:
        problem: why there is none, or not all, in one line; empty if nothing went wrong.
        length: mean acceptance length, tokens per draft step with the bonus token.
        positions: acceptance by position, unconditional, 0 to 1.
        classes: mean acceptance length by traffic class.
        payoff: where speculation pays least, or None.
        latencies: p95 in seconds by what is waited for.
        waiting: requests that wait now.
        pods: acceptance length of the pods that accept least.
        changes: what changed of late: a restart, a version, the fallback, the mix of traffic.
    """

    problem: str = ""
    length: Pair | None = None
    positions: tuple[Pair, ...] = ()
    classes: tuple[Pair, ...] = ()
    payoff: Payoff | None = None
    latencies: tuple[Pair, ...] = ()
    waiting: float | None = None
    pods: tuple[Pair, ...] = ()
    changes: tuple[str, ...] = ()

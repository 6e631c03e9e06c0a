"""What happens in the month."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0


@dataclass(frozen=True)
class Drift:
    """The draft fits worse for a while.

    Attributes:
        name: for the tables.
        start: seconds since the month began (a Monday, midnight).
        length: seconds.
        ratio: every conditional acceptance is multiplied by this.
        period: seconds from one bad spell to the next, if it comes and goes; half of it is bad.
        deploy: it came with a rollout of another draft, and went with the next.
        adapts: meanwhile the engine stops drafting by itself where drafts do not pay.
    """

    name: str
    start: float
    length: float
    ratio: float
    period: float = 0.0
    deploy: bool = False
    adapts: bool = False

    @property
    def end(self) -> float:
        """Seconds."""
        return self.start + self.length


@dataclass(frozen=True)
class Span:
    """Some other trouble, from `start` for `length` seconds."""

    start: float
    length: float

    @property
    def end(self) -> float:
        """Seconds."""
        return self.start + self.length


@dataclass(frozen=True)
class Month:
    """All that happens.

    Attributes:
        drifts: of the draft.
        mix_shift: most requests are of the kind that no draft fits; the draft is what it was.
        outages: nothing can be measured.
        rollouts: pods are restarted two by two; those of drifts that came with a deploy are among them.
    """

    drifts: tuple[Drift, ...]
    mix_shift: Span
    outages: tuple[Span, ...]
    rollouts: tuple[Span, ...]


ROLLOUT_S: Final = 2400.0


def _at(day: int, hour: float) -> float:
    return day * DAY_S + hour * HOUR_S


DRIFTS: Final = (
    Drift("x0.97, 6 h", _at(1, 10), 6 * HOUR_S, 0.97),
    Drift("x0.50, 3 h", _at(3, 13), 3 * HOUR_S, 0.5),
    Drift("x0.30, 4 h at night", _at(5, 1), 4 * HOUR_S, 0.3),
    Drift("x0.25, bad deploy, cured after 24 h", _at(7, 9), 24 * HOUR_S, 0.25, deploy=True),
    Drift("x0.90, 24 h", _at(9, 11), 24 * HOUR_S, 0.9),
    Drift("x0.10, 1 h", _at(11, 13), 1 * HOUR_S, 0.1),
    Drift("x0.35, on and off every 75 min, 8 h", _at(14, 10), 8 * HOUR_S, 0.35, period=4500.0),
    Drift("x0.40, 12 h, engine adapts by itself", _at(16, 8), 12 * HOUR_S, 0.4, adapts=True),
    Drift("x0.55, 3 days", _at(21, 12), 72 * HOUR_S, 0.55),
    Drift("x0.65, 30 h", _at(27, 8), 30 * HOUR_S, 0.65),
)


def draw_month(rng: np.random.Generator) -> Month:
    """The month of one seed: starts shifted by up to an hour and a half, sizes and lengths by a few percent."""
    drifts = tuple(_jittered(drift, rng) for drift in DRIFTS)
    deploys = [Span(at, ROLLOUT_S) for drift in drifts if drift.deploy for at in (drift.start, drift.end)]
    routine = Span(_at(19, 10), ROLLOUT_S)
    outage = Span(drifts[1].start + 600.0, HOUR_S)  # in the second drift, ten minutes after it began
    return Month(drifts, Span(_at(25, 9), 10 * HOUR_S), (outage,), (*deploys, routine))


def _jittered(drift: Drift, rng: np.random.Generator) -> Drift:
    ratio = drift.ratio * float(np.exp(rng.normal(0.0, 0.03))) if drift.ratio < 0.95 else drift.ratio
    return replace(
        drift,
        start=drift.start + float(rng.uniform(-1.5, 1.5)) * HOUR_S,
        length=drift.length * float(rng.uniform(0.9, 1.1)),
        ratio=ratio,
    )

"""What happens to the replay engine during the demonstration, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specwatch_exporters.replay.chain import Rates
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

SETTINGS = ReplaySettings(slots=16, model="llama-3.3-70b", per_request=PerRequest.SUMMARY, timings=True)
RATE = 3.9
"""Requests per second: 16 slots serve them while the draft fits, and fall behind once it does not."""
STALE = 0.45
"""What is left of each conditional acceptance once the draft is a version behind (illustrative)."""


@dataclass(frozen=True, slots=True)
class Act:
    """One scripted change.

    Attributes:
        share: of the demonstration's length at which it happens, 0 to 1.
        text: what a person reads.
        alarming: True if it makes things worse.
        apply: makes it happen.
    """

    share: float
    text: str
    alarming: bool
    apply: Callable[[ReplayThread], object]


def staled(rates: Rates, kept: float) -> Rates:
    """Unconditional acceptance per position after each conditional one is multiplied by `kept`."""
    return tuple(rate * kept ** (position + 1) for position, rate in enumerate(rates))


def _stale(engine: ReplayThread) -> None:
    _set_acceptance(engine, STALE)


def _fresh(engine: ReplayThread) -> None:
    _set_acceptance(engine, 1.0)


def _set_acceptance(engine: ReplayThread, kept: float) -> None:
    engine.configure(acceptance={name: staled(SETTINGS.rates(name), kept) for name in SETTINGS.class_names})


ACTS: tuple[Act, ...] = (
    Act(0.40, "the target was updated and its draft was not: the draft goes stale", alarming=True, apply=_stale),
    Act(0.80, "a matching draft is rolled out", alarming=False, apply=_fresh),
)

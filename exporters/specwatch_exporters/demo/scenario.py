"""What happens to the replay engine during the demonstration, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from specwatch_exporters.replay.chain import Rates
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

ACCEPTANCE: Mapping[str, Rates] = {
    "code": (0.76, 0.58, 0.45),
    "chat": (0.56, 0.32, 0.19),
    "math": (0.70, 0.48, 0.34),
}
"""Illustrative: classes of one healthy draft differ by a factor of 1.3 to 2 in published tables."""
SETTINGS = ReplaySettings(
    slots=16, model="llama-3.3-70b", per_request=PerRequest.SUMMARY, timings=True, acceptance=ACCEPTANCE
)
FALLBACK = ReplaySettings(
    slots=16, model="llama-3.3-70b", method="ngram", per_request=PerRequest.SUMMARY, timings=True
)
"""The second engine: n-gram with the acceptance that its step times were measured at."""
RATE = 3.4
"""Requests per second: 16 slots serve them with a draft that fits and with n-gram, and not with a stale draft."""
STALE = 0.45
"""What is left of each conditional acceptance once the draft is a version behind (illustrative)."""


class Props(Protocol):
    """What an act can move."""

    @property
    def engine(self) -> ReplayThread:
        """The simulated engine."""

    def change_mix(self, mix: Mapping[str, float]) -> None:
        """Draw traffic classes with other weights from now on."""


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
    apply: Callable[[Props], object]


def staled(rates: Rates, kept: float) -> Rates:
    """Unconditional acceptance per position after each conditional one is multiplied by `kept`."""
    return tuple(rate * kept ** (position + 1) for position, rate in enumerate(rates))


def _mostly_chat(props: Props) -> None:
    props.change_mix({"code": 0.05, "chat": 0.9, "math": 0.05})


def _usual_mix(props: Props) -> None:
    props.change_mix(dict.fromkeys(SETTINGS.class_names, 1.0))


def _stale(props: Props) -> None:
    _roll_out(props, STALE)


def _fresh(props: Props) -> None:
    _roll_out(props, 1.0)


def _roll_out(props: Props, kept: float) -> None:
    """Restart the engine with another acceptance, as a deploy does."""
    rates = {name: staled(SETTINGS.rates(name), kept) for name in SETTINGS.class_names}
    props.engine.configure(acceptance=rates)
    props.engine.restart()


ACTS: tuple[Act, ...] = (
    Act(0.15, "traffic changes: nine of ten requests are chat", alarming=False, apply=_mostly_chat),
    Act(0.29, "traffic is as before", alarming=False, apply=_usual_mix),
    Act(0.40, "deploy: the target was updated and its draft was not", alarming=True, apply=_stale),
    Act(0.69, "deploy: a matching draft is rolled out", alarming=False, apply=_fresh),
)

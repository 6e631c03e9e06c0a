"""How much the bench simulates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

RATIOS: Final = (0.97, 0.95, 0.9, 0.8, 0.5)
"""Sizes of drop: every conditional acceptance times this."""

HORIZON: Final = 2160
"""Scrapes after a change in which it must be found: six hours."""

LEAD: Final = 720
"""Scrapes of unchanged traffic that ours sees before a change: two hours. Peers see a day and more."""

CHANGES_FROM: Final = 2520
CHANGES_TO: Final = 6840
"""Changes come between 7 and 19 h, when somebody is there to make one."""


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        slots: sizes of pods.
        pods: of each size; each is calibrated by itself.
        history: days that a pod is calibrated on.
        days: days after that, without a change.
        trials: changes of each size tried per pod, each on a day of its own.
        stress_pods: pods of each size and kind of hard traffic.
        tuning_pods: pods on which peers are tuned, with other seeds.
        slow_days: days that KSWIN sees; it takes 300 times as long as the others.
        updates: observations that costs are measured with.
    """

    slots: tuple[int, ...] = (2, 16, 64)
    pods: int = 10
    history: int = 7
    days: int = 10
    trials: int = 4
    stress_pods: int = 3
    tuning_pods: int = 6
    slow_days: int = 1
    updates: int = 20_000


FULL: Final = Plan()
QUICK: Final = Plan(
    slots=(2,), pods=2, history=4, days=2, trials=4, stress_pods=1, tuning_pods=2, slow_days=0, updates=4_000
)
TINY: Final = Plan(
    slots=(2,), pods=1, history=1, days=1, trials=1, stress_pods=0, tuning_pods=1, slow_days=0, updates=50
)

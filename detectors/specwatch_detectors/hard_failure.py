"""Hard failure: the first draft token is hardly ever accepted any more.

Rule: position 1 is accepted at less than 0.35 of its baseline, in two intervals running, each with at least 200
drafts and at least 40 design effects of them. It catches a draft that is dead (wrong head, lost hidden state,
broken quantisation: acceptance length 1.0) within two intervals, without any statistic to explain.

Parameters: share of the baseline, intervals running, least drafts. Guarantee: with 40 effective drafts, and 16 /
baseline of them where the baseline is below 0.4, two independent intervals running are below 0.35 of the baseline
by chance less than twice in 10^6 pairs, so once in two months at 10 s (exact binomial; far less above 0.4). Failure
modes: blind to anything milder, and at low volume, which the CUSUM adds up; position 1 alone, so a draft whose
chain breaks later is left to the CUSUM.

Source: reported cases with an acceptance length of exactly 1 (SGLang pull request 21272, vLLM pull request 25883).
"""

from __future__ import annotations

from typing import Final

from specwatch_detectors.chain import inside
from specwatch_detectors.detector import State
from specwatch_detectors.window import Window

SHARE: Final = 0.35
RUNNING: Final = 2
LEAST_DRAFTS: Final = 200.0
LEAST_EFFECTIVE: Final = 40.0


class HardFailure:
    """Position 1 against a share of its baseline.

    Args:
        first: baseline acceptance of position 1.
        design: design effect d >= 1, safety factor included.
        state: what `state` of a predecessor gave.
    """

    __slots__ = ("_least", "_limit", "running")

    def __init__(self, first: float, *, design: float, state: State | None = None) -> None:
        base = inside(first)
        self._limit = SHARE * base
        self._least = max(LEAST_DRAFTS, LEAST_EFFECTIVE * design * max(1.0, 0.4 / base))
        self.running = 0.0 if state is None else state["running"]

    def update(self, observation: Window) -> float:
        """Take one interval in; returns intervals running over those needed: 1 or more is an alarm."""
        if observation.accepted and observation.drafts >= self._least:
            dead = observation.accepted[0] < self._limit * observation.trials[0]
            self.running = min(float(RUNNING), self.running + 1.0) if dead else 0.0
        return self.score

    @property
    def score(self) -> float:
        """Intervals running over those needed."""
        return self.running / RUNNING

    def reset(self) -> None:
        """Forget the intervals so far."""
        self.running = 0.0

    def state(self) -> dict[str, float]:
        """Intervals running."""
        return {"running": self.running}

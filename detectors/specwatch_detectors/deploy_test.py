"""Sequential probability ratio test after a deploy: is the draft as good as before, or worse?

With a known moment of change there is no need to wait for a change to show: Wald's test decides between the
last good baseline and r times it (positions that both depths have, if the number of draft tokens changed),

    L = L + l   (l as in `chain_cusum.py`, not cut at 0)
    worse when L >= ln((1 - b) / a),   as good when L <= ln(b / (1 - a))

Parameters: r (0.9), a and b (0.001 each: pods restart often, and every class tests), the design effect, and a
limit of 60 intervals with drafts, after which the answer is "undecided". Guarantees: at most a of good deploys are
called worse and b of bad ones as good, for independent drafts and normal evidence; of all tests with these errors
it needs the fewest intervals on average (Wald 1945; Wald and Wolfowitz 1948). Failure modes: a change between the
two hypotheses (about 5 %) takes longest and may stay undecided; traffic whose mix changed with the deploy looks
like a changed draft.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final, Protocol

from specwatch_detectors.detector import State
from specwatch_detectors.window import Window

RATIO: Final = 0.9
ERROR: Final = 0.001
LIMIT: Final = 60.0


class Verdict(StrEnum):
    """What the test says of the deploy."""

    OPEN = "open"
    WORSE = "worse"
    AS_GOOD = "as good"
    UNDECIDED = "undecided"


class Increments(Protocol):
    """Whatever weighs an interval."""

    def increment(self, observation: Window) -> float:
        """Evidence of one interval for the alternative, in nats."""


class DeployTest:
    """Wald's test of one deploy.

    Args:
        test: gives the evidence of an interval for r times the last good baseline; a `ChainCusum` or, without
            positions, a `MeanCusum`, made with the ratio r (`RATIO`) and the design effect.
        error: chance of either error, between 0 and 0.5.
        limit: intervals with drafts until it gives up.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: an argument is out of its range.
    """

    __slots__ = ("_limit", "_test", "_threshold", "evidence", "intervals", "verdict")

    def __init__(
        self,
        test: Increments,
        *,
        error: float = ERROR,
        limit: float = LIMIT,
        state: State | None = None,
    ) -> None:
        if not 0.0 < error < 0.5:
            raise ValueError(f"error must be between 0 and 0.5, got {error}")
        self._threshold = math.log((1.0 - error) / error)
        self._test = test
        self._limit = limit
        self.evidence = 0.0 if state is None else state["evidence"]
        self.intervals = 0.0 if state is None else state["intervals"]
        self.verdict = self._decide()

    def update(self, observation: Window) -> float:
        """Take one interval in; returns L over its upper threshold: 1 or more is "worse". Decided stays decided."""
        if self.verdict is Verdict.OPEN and observation.drafts > 0.0:
            self.evidence += self._test.increment(observation)
            self.intervals += 1.0
            self.verdict = self._decide()
        return self.evidence / self._threshold

    def _decide(self) -> Verdict:
        if self.evidence >= self._threshold:
            return Verdict.WORSE
        if self.evidence <= -self._threshold:
            return Verdict.AS_GOOD
        return Verdict.UNDECIDED if self.intervals >= self._limit else Verdict.OPEN

    def reset(self) -> None:
        """Begin the test again."""
        self.evidence = self.intervals = 0.0
        self.verdict = Verdict.OPEN

    def state(self) -> dict[str, float]:
        """The evidence in nats, and intervals with drafts so far."""
        return {"evidence": self.evidence, "intervals": self.intervals}

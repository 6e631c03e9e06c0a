"""The bank: several CUSUMs of one stream, each for a size of change, and the hard-failure rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors import chain
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.deploy_test import RATIO, DeployTest
from specwatch_detectors.detector import State
from specwatch_detectors.hard_failure import HardFailure
from specwatch_detectors.mean_cusum import MeanCusum
from specwatch_detectors.window import Window


@dataclass(frozen=True, slots=True)
class Member:
    """One ratio of the bank.

    Attributes:
        ratio: change that the member is tuned to, alternative over baseline.
        needs: largest relative error of the baseline at which it may judge: a third of half the change, so that
            an error of the baseline is not taken for drift.
    """

    ratio: float

    @property
    def needs(self) -> float:
        """Relative standard error of the baseline, at most."""
        return (1.0 - self.ratio) / 6.0


FINE: Final = (Member(0.97), Member(0.93))
COARSE: Final = Member(0.8)
"""Judges alone while the baseline is too young for the others."""

Cusum = ChainCusum | MeanCusum


class DriftBank:
    """The members that the baseline is good enough for, updated together.

    Positions that are known much less well than those before them are left out as long as fewer positions can be
    judged better. What a predecessor judged stays judged: a spread that turns out wider takes fine members away,
    but never the last one, and no position.

    Args:
        baseline: frozen; its first positions are used, as many as are known well enough.
        design: design effect, safety factor included.
        threshold: h of every member, in nats.
        depth: draft tokens per draft, for engines without positions.
        state: what `state` of a predecessor gave; members that it lacks start at 0.
        judged: positions that the predecessor judged.

    Attributes:
        baseline: of the positions that are judged.
        q: its conditional acceptances.
        mean: its accepted tokens per draft of full depth, or None before any draft.
        error: relative standard error of that baseline, which decides who may judge.
        judged: positions that are judged; 0 without members, or without positions.
    """

    def __init__(
        self,
        baseline: Baseline,
        *,
        design: float,
        threshold: float,
        depth: int,
        state: Mapping[str, Any] | None = None,
        judged: int = 0,
    ) -> None:
        self.design = design
        self._depth = depth
        kept = {} if state is None else state
        choices = [_choice(baseline.first(positions), design, depth) for positions in baseline.prefixes]
        allowed = [choice for choice in choices if len(choice.baseline.q) >= judged] or choices[:1]
        best = max(allowed, key=lambda choice: choice.rank)
        self.baseline, self.error = best.baseline, best.error
        self.q, self.mean = self.baseline.q, self.baseline.mean_accepted
        self.members = best.members or ((COARSE,) if kept and math.isfinite(best.error) else ())
        self.complete = self.members == FINE
        self.judged = len(self.q) if self.members else 0
        self._cusums: dict[str, Cusum] = {
            f"{member.ratio:g}": self._cusum(member.ratio, threshold, kept.get(f"{member.ratio:g}"))
            for member in self.members
        }
        first = self.q[0] if self.q else 0.0
        self._hard = HardFailure(first, design=design, state=kept.get("hard")) if first and self.members else None

    def update(self, observation: Window) -> float:
        """Take one interval in; returns the largest score over threshold of all members."""
        for cusum in self._cusums.values():
            cusum.update(observation)
        if self._hard is not None:
            self._hard.update(observation)
        return self.score

    @property
    def scores(self) -> dict[str, float]:
        """Evidence over threshold by member: a ratio, or `hard`."""
        found = {name: cusum.evidence / cusum.threshold for name, cusum in self._cusums.items()}
        return found if self._hard is None else {**found, "hard": self._hard.score}

    @property
    def score(self) -> float:
        """The largest score of all members; 0 without any."""
        return max(self.scores.values(), default=0.0)

    @property
    def quiet(self) -> bool:
        """No member has any evidence."""
        return all(cusum.evidence == 0.0 for cusum in self._cusums.values())

    @property
    def loudest(self) -> str:
        """Name of the member with the largest score: a ratio, or `hard`; empty without members."""
        scores = self.scores
        return max(scores, key=lambda name: scores[name], default="")

    def reset(self) -> None:
        """Forget the evidence of all members."""
        for cusum in self._cusums.values():
            cusum.reset()
        if self._hard is not None:
            self._hard.reset()

    def clear_test(self, threshold: float, state: State | None = None) -> Cusum:
        """What ends a drift: a CUSUM from the mildest change that the bank knows back to the baseline."""
        worse = max((member.ratio for member in self.members), default=COARSE.ratio)
        return self._cusum(1.0 / worse, threshold, state, start=worse)

    def deploy_test(self, state: State | None = None) -> DeployTest:
        """A test of the draft after a change of the engine, against this baseline."""
        return DeployTest(self._cusum(RATIO, 1.0, None), state=state)

    def _cusum(self, ratio: float, threshold: float, state: State | None, *, start: float = 1.0) -> Cusum:
        """A CUSUM of `ratio` times the acceptance that is `start` times the baseline's, position by position."""
        design, q = self.design, self.q
        if q:
            scaled = [start * value for value in q]
            return ChainCusum(scaled, ratio=ratio, design=design, threshold=threshold, state=state)
        equal = chain.geometric(self.mean or 0.0, self._depth)
        mean = chain.mean_accepted([start * value for value in equal])
        return MeanCusum(mean, depth=self._depth, ratio=ratio, design=design, threshold=threshold, state=state)

    def state(self) -> dict[str, dict[str, float]]:
        """The evidence of each member by name."""
        found = {name: cusum.state() for name, cusum in self._cusums.items()}
        return found if self._hard is None else {**found, "hard": self._hard.state()}


@dataclass(frozen=True, slots=True)
class _Choice:
    """A baseline that could judge, and who could judge with it."""

    baseline: Baseline
    error: float
    members: tuple[Member, ...]

    @property
    def rank(self) -> tuple[int, bool]:
        return sum(member in FINE for member in self.members), bool(self.members)


def _choice(baseline: Baseline, design: float, depth: int) -> _Choice:
    error = _error(baseline, design, depth)
    fine = tuple(member for member in FINE if error <= member.needs)
    return _Choice(baseline, error, fine or ((COARSE,) if error <= COARSE.needs else ()))


def _error(baseline: Baseline, design: float, depth: int) -> float:
    """Relative standard error of the baseline."""
    if baseline.q:
        return baseline.relative_error(design)
    mean = baseline.mean_accepted
    if mean is None or not 0.0 < mean < depth:
        return float("inf")
    equal = Baseline.of_mean(mean, depth, baseline.counts.drafts)
    return equal.relative_error(design)

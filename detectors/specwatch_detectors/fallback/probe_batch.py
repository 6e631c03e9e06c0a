"""The home level's speed-up at the batch that it would have with all of the traffic.

A probe gets a small share of the traffic, so it runs at a small batch, and there any draft pays: the step is bound
by memory, and verifying costs next to nothing. What counts is the batch of the level in force:

    S(b) = tau / rho(b),   so   S(b_here) = S(b_probe) rho(b_probe) / rho(b_here)

with rho from a step-time profile, prefill left out as in decode alone.
"""

from __future__ import annotations

from dataclasses import replace

from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.observation import Observation, ObservationSource, Seen
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.payoff.step_cost import Cost, Load, StepCost


class ProbeAtBatch:
    """Looks through another source, and moves what the home level gives to the batch of the level in force.

    Args:
        source: looks at the levels.
        home: level to come back to.
        cost: of its steps.
        depth: its K.
    """

    def __init__(self, source: ObservationSource, home: Level, cost: StepCost, depth: int) -> None:
        self._source = source
        self._home = home
        self._cost = cost
        self._depth = depth

    def observe(self, now: float, level: Level, since: float) -> Observation:
        """Look; see `ObservationSource`."""
        seen = self._source.observe(now, level, since)
        home, here = seen.levels.get(self._home), seen.levels.get(level)
        if level is self._home or home is None or here is None:
            return seen
        moved = self._moved(home, here)
        others = {own: one for own, one in seen.levels.items() if own is not self._home}
        return replace(seen, levels=others if moved is None else {self._home: moved, **others})

    def _moved(self, home: Seen, here: Seen) -> Seen | None:
        """The home level as if it ran at the other one's batch; None if that cannot be told."""
        if home.batch is None or here.batch is None:
            return None
        if home.batch >= here.batch:
            return home
        own, wanted = (self._cost.at(Load(batch, float(self._depth))) for batch in (home.batch, here.batch))
        if not isinstance(own, Cost) or not isinstance(wanted, Cost):
            return None
        factor, bounds = own.ratio / wanted.ratio, home.bounds
        return replace(home, bounds=Bounds(bounds.lower * factor, bounds.estimate * factor, bounds.upper * factor))

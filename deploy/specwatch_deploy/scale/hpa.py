"""The HPA's control loop: proposals of its metrics, stabilised, limited by policies, within its bounds.

Source: Kubernetes 1.34, pkg/controller/podautoscaler/horizontal.go. Pure: time is passed in, nothing is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specwatch_deploy.scale.hpa_behavior import (
    KUBERNETES_DEFAULT,
    Behavior,
    Events,
    fewest_replicas,
    most_replicas,
)
from specwatch_deploy.scale.hpa_metric import Tolerance


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least and most replicas."""

    least: int
    most: int


@dataclass(slots=True)
class Hpa:
    """One autoscaler with its memory.

    Attributes:
        bounds: of its replicas.
        behavior: how fast it moves.
        tolerance: of its metrics; kept here for callers that make proposals.
    """

    bounds: Bounds
    behavior: Behavior = KUBERNETES_DEFAULT
    tolerance: Tolerance = field(default_factory=Tolerance)
    _wishes: list[tuple[float, int]] = field(default_factory=list)
    _added: Events = field(default_factory=Events)
    _removed: Events = field(default_factory=Events)

    def sync(self, at: float, current: int, proposals: Sequence[int | None]) -> int:
        """One round of the loop.

        Args:
            at: time in seconds, rising from call to call.
            current: replicas that the scaled object asks for.
            proposals: of each metric; None for one that could not be read.

        Returns:
            Replicas to ask for. Nothing changes if all metrics failed, or one failed and the others ask for fewer.
        """
        if not self._wishes:
            self._wishes.append((at, current))
        if current == 0 and self.bounds.least > 0:
            return 0  # switched off by a person, or waiting for KEDA to wake it
        if not self.bounds.least <= current <= self.bounds.most:
            return self._made(at, current, min(max(current, self.bounds.least), self.bounds.most))
        wanted = _together(proposals, current)
        if wanted is None:
            return current
        return self._made(at, current, self._limited(at, current, self._stabilised(at, current, wanted)))

    def _stabilised(self, at: float, current: int, wanted: int) -> int:
        """Not above the least wish of the window for going up, not below the greatest of the one for going down."""
        up_from, down_from = at - self.behavior.up.window_s, at - self.behavior.down.window_s
        upper = min([wanted, *(wish for when, wish in self._wishes if when > up_from)])
        lower = max([wanted, *(wish for when, wish in self._wishes if when > down_from)])
        self._wishes = [item for item in self._wishes if item[0] > min(up_from, down_from)]
        self._wishes.append((at, wanted))
        return min(max(current, upper), lower)

    def _limited(self, at: float, current: int, wanted: int) -> int:
        if wanted > current:
            most = most_replicas(current, at, self.behavior.up, self._added, self._removed)
            return min(wanted, most, self.bounds.most)
        if wanted < current:
            fewest = fewest_replicas(current, at, self.behavior.down, self._added, self._removed)
            return max(wanted, fewest, self.bounds.least)
        return current

    def _made(self, at: float, current: int, new: int) -> int:
        rules = (self.behavior.up, self.behavior.down)
        keep_s = max(policy.period_s for side in rules for policy in side.policies)
        if new > current:
            self._added.add(at, new - current, keep_s)
        elif new < current:
            self._removed.add(at, current - new, keep_s)
        return new


def _together(proposals: Sequence[int | None], current: int) -> int | None:
    known = [item for item in proposals if item is not None]
    if not known:
        return None
    wanted = max(known)
    return None if len(known) < len(proposals) and wanted < current else wanted

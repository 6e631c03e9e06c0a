"""From the moments at which a rule's expression gave a label set to the times at which its alert would have fired.

The state machine of Prometheus (`rules/alerting.go`, 2.42 to 3.x), for one label set, on a grid of evaluations: an
alert is pending from the first evaluation that gives it, fires at the first one that is `for` later without a
break, and ends at the first evaluation without it, or, with `keep_firing_for`, at the first one that is that much
later.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Episode:
    """One time of firing.

    Attributes:
        start: epoch seconds of the evaluation that made it fire.
        end: that ended it, or the last one if it still fires.
        ended: whether it ended.
    """

    start: float
    end: float
    ended: bool = True

    @property
    def seconds(self) -> float:
        """How long it fired."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Firing:
    """What became of one label set.

    Attributes:
        episodes: by time.
        held_back: how often it was given and ended before `for` was over.
    """

    episodes: tuple[Episode, ...] = ()
    held_back: int = 0


def firing(times: Iterable[float], step: float, for_s: float, keep_firing_s: float, last: float) -> Firing:
    """Episodes of one label set.

    Args:
        times: evaluations at which the expression gave it, ascending, multiples of `step`.
        step: seconds between evaluations.
        for_s: seconds that it must hold.
        keep_firing_s: seconds that it fires on.
        last: the last evaluation of all; what would end later has not ended.
    """
    wait, linger = _ceiling(for_s, step), _ceiling(keep_firing_s, step)
    episodes: list[Episode] = []
    held_back, began, ends = 0, -math.inf, -math.inf
    for first, final in runs(times, step):
        if first > ends:
            if began > -math.inf:
                episodes.append(Episode(began, ends))
                began = -math.inf
            if first + wait > final:
                held_back += final < last
                continue
            began = first + wait
        ends = final + step + linger
    if began > -math.inf:
        episodes.append(Episode(began, min(ends, last), ended=ends <= last))
    return Firing(tuple(episodes), held_back)


def runs(times: Iterable[float], step: float) -> Iterator[tuple[float, float]]:
    """First and last of each stretch of evaluations without a gap."""
    first = final = math.nan
    for at in times:
        if not at - final < 1.5 * step:
            if not math.isnan(first):
                yield first, final
            first = at
        final = at
    if not math.isnan(first):
        yield first, final


def _ceiling(seconds: float, step: float) -> float:
    """The least number of whole steps that is no shorter, in seconds."""
    return math.ceil(seconds / step - 1e-9) * step

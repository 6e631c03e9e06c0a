"""How the levels that a movement gave more traffic do, against the traffic before it, by series of their pods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from typing import Final, Protocol

from specwatch_deploy.actuators.health_change import HealthChange, HealthLimits, judge, judge_all
from specwatch_deploy.actuators.pool_figures import BEFORE_S, PoolFigures
from specwatch_deploy.actuators.series_figures import ROWS, SeriesFigures
from specwatch_detectors.fallback.actuator import Health, Shares
from specwatch_detectors.fallback.fallback_config import FallbackConfig
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.watch.source import Source, SourceError

WHOLE: Final = 1.0 - 1e-3
NONE: Final = "none"
KINDS: Final = (*ROWS, NONE)


class HealthWatch(Protocol):
    """Watches what a lever moves."""

    def moved(self, before: Shares, after: Shares) -> None:
        """Traffic was moved from these shares to those."""

    def health(self) -> Health:
        """How those do that gained traffic in the last movement."""


HealthMaker = Callable[[str, HealthLimits], HealthWatch]
"""Makes a watch for what `[lever] health` names."""


class Unwatched:
    """Nobody measures anything."""

    def moved(self, before: Shares, after: Shares) -> None:
        """Nothing is kept."""

    def health(self) -> Health:
        """Unknown."""
        return Health(ok=False, reason="nobody measures the traffic", known=False)


class Figures(Protocol):
    """Reads figures; see `SeriesFigures`."""

    @property
    def name(self) -> str:
        """What requests are counted by."""

    def of(self, levels: Collection[Level], start: float, end: float) -> PoolFigures:
        """Requests of some levels that ended in a span."""


class MovedHealth:
    """Compares figures since a step is in force with those of the five minutes before the first step.

    A step is in force when it is asked about for the first time: what its pods did while they were being replaced
    says nothing of the new ones. After a restart in the middle nothing is known of before, and nothing is judged.

    Args:
        figures: reads them.
        limits: what still counts as no worse.
        clock: epoch seconds.
    """

    def __init__(self, figures: Figures, limits: HealthLimits, clock: Callable[[], float] = time.time) -> None:
        self._figures = figures
        self._limits = limits
        self._clock = clock
        self._before: PoolFigures | None = None
        self._gained: tuple[Level, ...] = ()
        self._since: float | None = None

    def moved(self, before: Shares, after: Shares) -> None:
        """Remember how the traffic did before, unless this is a further step of one movement."""
        if max(before.values(), default=0.0) >= WHOLE or self._before is None:
            now = math.floor(self._clock())
            used = [level for level, share in before.items() if share > 0.0]
            self._before = self._read(used, now - BEFORE_S, now)[0]
        self._gained = tuple(level for level in Level if after.get(level, 0.0) > before.get(level, 0.0))
        self._since = None

    def health(self) -> Health:
        """Unknown while little is seen, where nothing can be read, or nothing was moved."""
        if not self._gained or self._before is None:
            return Health(ok=False, reason="how the traffic did before the movement is not known", known=False)
        now = math.floor(self._clock())
        if self._since is None:
            self._since = now
        return judge_all(self._one(level, self._since, now) for level in self._gained)

    def _one(self, level: Level, since: float, now: float) -> Health:
        after, problem = self._read([level], since, now)
        if after is None or self._before is None:
            return Health(ok=False, reason=f"{level.words}: not measured: {problem}", known=False)
        if not after.ended and not self._before.ended:
            said = f"{self._figures.name} counts no request of it; see [lever] health"
            return Health(ok=False, reason=f"{level.words}: not measured: {said}", known=False)
        least = self._limits.requests
        change = HealthChange(
            requests=after.ended,
            error_rate_before=self._before.error_rate,
            error_rate_after=after.error_rate,
            p99_before_s=self._before.p99_s(least),
            p99_after_s=after.p99_s(least),
            unreachable=after.unreachable,
        )
        return judge(level, change, self._limits)

    def _read(self, levels: Collection[Level], start: float, end: float) -> tuple[PoolFigures | None, str]:
        """Figures, or None and why there are none: a movement does not fail because nobody can watch it."""
        if end <= start:
            return PoolFigures(), ""
        try:
            return self._figures.of(levels, start, end), ""
        except SourceError as error:
            return None, str(error)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            return None, f"the answer holds no samples as Prometheus gives them: {error!r}"


def health_maker(config: FallbackConfig, series: Source) -> HealthMaker:
    """What makes watches over the series that a configuration's `[source]` gives."""

    def make(kind: str, limits: HealthLimits) -> HealthWatch:
        if kind == NONE:
            return Unwatched()
        return MovedHealth(SeriesFigures(series, config.model, config.seen.rule, ROWS[kind]), limits)

    return make

"""rho without a measured profile: step times seen with speculation over step times seen without.

The source is time between outputs of a request, one sample per request and step, of one engine: the vLLM plugin's
by batch bucket where its series are on the page, else the engine's own histogram at the batch of its gauge. An
engine serves with speculation on or off, not both, so one side was seen at another time. That makes it an estimate:
traffic, context and prefill may have differed. The gaps hold the prefill that was mixed into the steps, so the
quotient does too, and S needs no further correction for it. Where the two cannot be compared, it says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from specwatch_detectors.payoff.step_cost import Basis, Cost, Load, StepCost, Unknown
from specwatch_detectors.payoff.step_times import StepTimes
from specwatch_exporters.request_labels import BATCH_LABELS, UNKNOWN, batch_label

OFF: Final = "off"
IDLE: Final = "idle"
"""Stands for: speculation configured, nothing drafted in the interval."""
UNPROFILED: Final = "none"
"""Stands for the profile where there is none."""
MAX_AGE_S: Final = 7 * 86_400.0
_ALIKE: Final = 1.25
_WORST_ERROR: Final = 0.2


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient of two mean times.

    Attributes:
        value: of the means.
        relative_error: of the quotient.
    """

    value: float
    relative_error: float


def ratio_of(over: StepTimes, under: StepTimes, names: tuple[str, str] = ("on", "off")) -> Ratio | Unknown:
    """One mean time over another, where both are known well enough and were taken at like batch sizes.

    With steps on both sides it is rho. With times per token at one token per step (nothing drafted) it is the idle
    tax.

    Args:
        over: the upper side.
        under: the lower side.
        names: what to call the sides in a refusal.
    """
    for side, name in ((over, names[0]), (under, names[1])):
        if side.lacking is not None:
            return Unknown(f"step times with speculation {name}: {side.lacking}")
    upper, lower = over.mean or 0.0, under.mean or math.inf
    batches = (over.batch or 1.0, under.batch or 1.0)
    if max(batches) > _ALIKE * max(1.0, min(batches)):
        return Unknown(
            f"mean batch differs between the sides: {batches[0]:.1f} {names[0]}, {batches[1]:.1f} {names[1]}"
        )
    error = math.hypot(over.relative_error or 0.0, under.relative_error or 0.0)
    if error > _WORST_ERROR:
        return Unknown(f"step times vary too much to compare: the ratio is known to {error:.0%} only")
    return Ratio(upper / lower, error)


def ratio_from_token_times(on: StepTimes, off: StepTimes, length: float) -> Ratio | Unknown:
    """Estimate rho from times per token where nobody saw steps: tau times the quotient.

    Args:
        on: seconds per output token with speculation.
        off: without.
        length: tau of the same intervals as `on`, over all steps.
    """
    found = ratio_of(on, off)
    return found if isinstance(found, Unknown) else Ratio(found.value * length, found.relative_error)


@dataclass(frozen=True, slots=True)
class EstimatedCost:
    """Costs by batch bucket from what was seen. See `StepCost`.

    Attributes:
        method: method of the side with speculation.
        on: times with drafts, by batch label.
        off: times without speculation.
        idle: times of a speculating engine that drafted nothing.
        gpus: of one engine.
    """

    method: str
    on: Mapping[str, StepTimes] = field(default_factory=dict)
    off: Mapping[str, StepTimes] = field(default_factory=dict)
    idle: Mapping[str, StepTimes] = field(default_factory=dict)
    gpus: int = 1

    @property
    def name(self) -> str:
        """`none`: no profile is behind it."""
        return UNPROFILED

    @property
    def basis(self) -> Basis:
        """Estimated; none as long as one of the sides was not seen."""
        return Basis.ESTIMATED if self.on and self.off else Basis.NONE

    def at(self, load: Load) -> Cost | Unknown:
        """The cost in the bucket of that batch size; context is whatever it was."""
        label = batch_label(load.batch)
        on, off = self.on.get(label, StepTimes()), self.off.get(label, StepTimes())
        found = ratio_of(on, off)
        if isinstance(found, Unknown):
            return Unknown(f"no profile, and no estimate at batch {label}: {found.reason}")
        return Cost(
            ratio=found.value,
            relative_error=found.relative_error,
            spec_seconds=on.mean,
            plain_seconds=off.mean,
            idle_ratio=self.idle_ratio(load.batch),
        )

    def idle_ratio(self, batch: float) -> float | None:
        """Step of a speculating engine that drafts nothing over one without speculation; None if not seen."""
        label = batch_label(batch)
        sides = self.idle.get(label, StepTimes()), self.off.get(label, StepTimes())
        found = ratio_of(*sides, ("idle", "off"))
        return None if isinstance(found, Unknown) else found.value


@dataclass(frozen=True, slots=True)
class WithSeenIdle:
    """A profile's costs, and the tax of drafting nothing from what was seen where the profile lacks it.

    Attributes:
        profile: the costs.
        seen: step times of this engine.
    """

    profile: StepCost
    seen: EstimatedCost

    @property
    def name(self) -> str:
        """The profile's."""
        return self.profile.name

    @property
    def basis(self) -> Basis:
        """The profile's."""
        return self.profile.basis

    @property
    def gpus(self) -> int:
        """The profile's."""
        return self.profile.gpus

    def at(self, load: Load) -> Cost | Unknown:
        """The profile's cost."""
        found = self.profile.at(load)
        if isinstance(found, Unknown) or found.idle_ratio is not None:
            return found
        return replace(found, idle_ratio=self.seen.idle_ratio(load.batch))


class StepTimesBook:
    """Keeps step times by speculation and batch bucket, across restarts of the engine with other settings.

    What was seen without speculation is kept for 7 days: longer ago the model, the traffic or the version has
    probably changed. `forget` drops everything when they are known to have.

    Args:
        max_age_s: how long a side may lie back.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: the state is not one of a book.
    """

    def __init__(self, max_age_s: float = MAX_AGE_S, state: Mapping[str, Any] | None = None) -> None:
        self._max_age_s = max_age_s
        self._times: dict[tuple[str, str], StepTimes] = {}
        for key, values in (state or {}).items():
            speculation, _, label = str(key).rpartition("|")
            if label not in BATCH_LABELS or not isinstance(values, list):
                raise ValueError(f"not the state of step times: {key!r}")
            self._times[speculation, label] = StepTimes.from_list(values)

    def observe(self, speculation: str, batch: float, count: float, seconds: float, now: float) -> None:
        """Add one interval of a histogram.

        Args:
            speculation: `off`, `idle`, or the method; what is `unknown` is left out.
            batch: mean batch size of the interval.
            count: increase of the count.
            seconds: increase of the sum.
            now: end of the interval, seconds.

        Raises:
            ValueError: an increase is negative or no number.
        """
        if speculation in {UNKNOWN, ""}:
            return
        key = (speculation, batch_label(batch))
        self._times[key] = self._times.get(key, StepTimes()).observed(count, seconds, batch, now)

    def cost(self, method: str, now: float, gpus: int = 1) -> EstimatedCost:
        """The costs of a method as far as they can be told now."""
        return EstimatedCost(method, self._side(method, now), self._side(OFF, now), self._side(IDLE, now), gpus)

    def forget(self) -> None:
        """Another model, version or hardware: nothing from before counts."""
        self._times.clear()

    def state(self) -> dict[str, list[float]]:
        """Everything, as JSON."""
        return {f"{speculation}|{label}": times.as_list() for (speculation, label), times in self._times.items()}

    def _side(self, speculation: str, now: float) -> dict[str, StepTimes]:
        return {
            label: times
            for (name, label), times in self._times.items()
            if name == speculation and now - times.last <= self._max_age_s
        }

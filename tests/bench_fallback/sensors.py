"""What a controller knows: payoff and drift by the project's own meters, from noisy counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bench_fallback.contender import Seen, View
from bench_fallback.kind import DEPTH
from bench_fallback.plan import ROUND_S
from bench_fallback.steps import DRAFT, METHODS, NGRAM
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.payoff.payoff import Bounds, speedup
from specwatch_detectors.payoff.payoff_meter import DESIGN_PRIOR, HALF_LIFE_S, PayoffMeter
from specwatch_detectors.payoff.payoff_sample import PayoffSample
from specwatch_detectors.payoff.recent_spread import RecentSpread
from specwatch_detectors.payoff.step_cost import Load, Unknown
from specwatch_detectors.payoff.step_profile import StepProfile
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.threshold import Budget
from specwatch_detectors.window import Window, window

STATED_LENGTH: Final = 1.85
"""Tokens per step that n-gram is said to give, until it was in use: those of the profile's run."""

SETTINGS: Final = MonitorSettings(budget=Budget(interval_s=ROUND_S))


@dataclass
class PayoffSensor:
    """The payoff of one level while it is in use, and how much evidence is behind it."""

    meter: PayoffMeter
    spread: RecentSpread = field(default_factory=lambda: RecentSpread(DEPTH))
    bounds: Bounds | None = None
    length: float | None = None
    effective: float = 0.0
    local: bool = True

    def take(self, seen: Seen, long_run: float | None) -> None:
        """One round's counts; `long_run` is the design effect of the drift test."""
        self.spread.update(_window(seen), ROUND_S)
        design = self.spread.design(long_run) if self.local else long_run or DESIGN_PRIOR
        report = self.meter.update([_sample(seen)], ROUND_S, design=design, engines=seen.pods)
        main = report.main
        self.bounds = None if main is None else main.speedup
        self.length = self.length if main is None or main.length is None else main.length
        self.effective = self.effective * 0.5 ** (ROUND_S / HALF_LIFE_S) + seen.drafts / design

    def reset(self) -> None:
        """Another set of pods, or another revision."""
        self.meter.changed(self.meter.cost, DEPTH)
        self.spread.changed(DEPTH)
        self.bounds, self.effective = None, 0.0


@dataclass
class Sensors:
    """All that one controller measures.

    Attributes:
        profile: step times that it believes.
        local: bounds by the spread of the last half hour; else by the drift test's long-run design effect.
    """

    profile: StepProfile
    measured_at: float | None = None
    drift: DriftState = DriftState.CANNOT_TELL
    drifted_at: list[float] = field(default_factory=list)
    local: bool = True
    design: float | None = None

    def __post_init__(self) -> None:
        """Make the meters."""
        self.by_level = [self._sensor(method) for method in METHODS]
        self.probe = self._sensor(METHODS[DRAFT])
        self._monitor = DriftMonitor(SETTINGS, depth=DEPTH)
        self._revision: int | None = None

    def _sensor(self, method: str) -> PayoffSensor:
        return PayoffSensor(PayoffMeter("model", self.profile.cost_of(method), depth=DEPTH), local=self.local)

    def take(self, view: View, level: int, *, probing: bool) -> None:
        """One round; `level` is the one in use."""
        if self._revision is not None and view.revision != self._revision:
            self._monitor.changed(Change.DEPLOY)
            self.by_level[DRAFT].reset()
        self._revision = view.revision
        if view.outage:
            return
        seen = view.seen[level]
        if seen is not None:
            self.measured_at = view.now
            if level < len(METHODS):
                self.by_level[level].take(seen, self.design if level == DRAFT else None)
        drafter = view.seen[DRAFT]
        if level == DRAFT and drafter is not None:
            self._watch(drafter, view.now)
        if probing and level != DRAFT and drafter is not None:
            self.probe.take(drafter, self.design)

    def _watch(self, seen: Seen, now: float) -> None:
        before = self.drift
        reading = self._monitor.update(_window(seen), now)
        self.drift = reading.state
        if reading.design is not None:
            self.design = reading.design
        if self.drift is DriftState.DRIFTED and before is not DriftState.DRIFTED:
            self.drifted_at.append(now)

    def entered(self, level: int) -> None:
        """Another level is in use: what was measured of it before is old."""
        if level < len(METHODS):
            self.by_level[level].reset()

    def of_ngram(self, batch: float, prompt_per_output: float) -> Bounds | None:
        """Speed-up of n-gram at a load, from its last known tokens per step: an estimate, its bounds unknown."""
        cost = self.profile.cost_of(METHODS[NGRAM]).at(Load(batch, float(DEPTH)))
        if isinstance(cost, Unknown):
            return None
        length = self.by_level[NGRAM].length or STATED_LENGTH
        found = speedup(length, cost.ratio, cost.prefill_share * prompt_per_output)
        return Bounds(found, found, found)


def _window(seen: Seen) -> Window:
    return window(seen.drafts, seen.accepted)


def _sample(seen: Seen) -> PayoffSample:
    return PayoffSample(
        _window(seen),
        batch=max(1.0, seen.batch),
        request_steps=seen.request_steps,
        draft_tokens=seen.drafts * DEPTH,
        prompt_per_output=seen.prompt_per_output,
    )

"""The project's policy, on what its own meters say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from bench_fallback.contender import Kind, Order, Seen, View
from bench_fallback.fleet import Fleet
from bench_fallback.lever import Lever
from bench_fallback.sensors import Sensors
from bench_fallback.steps import DRAFT, LEVELS, NGRAM, PROFILE
from specwatch_detectors.fallback.decision import Act
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.policy import begin, decide, unlatch
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.payoff.profile_file import load_profile

LOOKED_AT_AFTER_S: Final = 2 * 3600.0
"""A latch pages somebody, who looks and unlatches two hours later, whatever the draft does then."""


@dataclass
class Ours:
    """The policy with its meters.

    Attributes:
        lever: that moves pods; its price is told to the policy.
        rules: constants.
        name: for the tables.
    """

    lever: Lever
    rules: FallbackSettings = FallbackSettings()  # noqa: RUF009 - immutable
    name: str = "specwatch"
    sensors: Sensors = field(default_factory=lambda: Sensors(load_profile(PROFILE)))
    latched_at: float | None = None
    vetoes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin at home."""
        self.rules = replace(self.rules, switch_cost_s=self.lever.switch_cost_s)
        self._state = begin(self.rules, 0.0)

    def round(self, view: View, fleet: Fleet) -> Order | None:
        """One round of the controller: measure, decide; while pods move it waits."""
        level = LEVELS.index(self._state.level)
        probing = self._state.probe_began is not None
        self.sensors.take(view, level, probing=probing)
        if not fleet.settled:
            return None
        if self.latched_at is not None and view.now - self.latched_at >= LOOKED_AT_AFTER_S:
            self._state, self.latched_at = unlatch(self._state), None
        self._state, decision = decide(self._state, self._inputs(view, level), self.rules)
        if decision.veto is not None:
            self.vetoes[decision.veto.value] = self.vetoes.get(decision.veto.value, 0) + 1
        wanted = LEVELS.index(decision.level)
        if decision.act is Act.SWITCH:
            self.sensors.entered(wanted)
            return Order(Kind.MOVE, wanted, decision.reason, staged=True)
        if decision.act is Act.LATCH:
            self.latched_at = view.now
            return Order(Kind.LATCH, level, decision.reason)
        if self._state.probe_began is not None and not probing:
            self.sensors.probe.reset()
            return Order(Kind.PROBE, level, decision.reason)
        if probing and self._state.probe_began is None:
            return Order(Kind.END_PROBE, level, decision.reason)
        return None

    def _inputs(self, view: View, level: int) -> FallbackInputs:
        seen = view.seen[level]
        known = {}
        if level < len(self.sensors.by_level) and self.sensors.by_level[level].bounds is not None:
            known[LEVELS[level]] = self.sensors.by_level[level].bounds
        if level == DRAFT:
            other = self._ngram(seen)
            if other is not None:
                known[LEVELS[NGRAM]] = other
        sensors = self.sensors
        return FallbackInputs(
            now=view.now,
            measured_at=sensors.measured_at,
            speedup={each: bounds for each, bounds in known.items() if bounds is not None},
            effective_drafts=sensors.by_level[level].effective if level < len(sensors.by_level) else 0.0,
            drift=sensors.drift,
            rollout=view.rollout and not view.outage,
            adapts="acceptance gate" if view.adapts else "",
            revision=str(view.revision),
            probe=sensors.probe.bounds if self._state.probe_began is not None else None,
        )

    def _ngram(self, seen: Seen | None) -> Bounds | None:
        if seen is None:
            return None
        return self.sensors.of_ngram(max(1.0, seen.batch), seen.prompt_per_output)

"""What the policy would have done with a recording, and what that would have been worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from specwatch_detectors.fallback.decision import Act, Decision
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.inputs_json import decision_as_json
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.policy import begin, decide


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome.

    Attributes:
        began: time of the first inputs.
        ended: of the last.
        decisions: time and decision, each that was more than to stay; of those that repeat the first.
        on_level: seconds on each level.
        switches: that were made.
        lost_s: seconds of the whole capacity lost against the best level at each moment, switches included.
        idle_lost_s: the same, had home been kept.
        unknown_s: seconds in which the level in force or home was not measured; they count for neither.
    """

    began: float
    ended: float
    decisions: tuple[tuple[float, Decision], ...]
    on_level: dict[Level, float]
    switches: int
    lost_s: float
    idle_lost_s: float
    unknown_s: float

    @property
    def avoided_s(self) -> float:
        """Seconds of the whole capacity that the policy would have saved; below 0 it would have cost some."""
        return self.idle_lost_s - self.lost_s

    def as_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "began": self.began,
            "ended": self.ended,
            "decisions": [{"at": at, **decision_as_json(decision)} for at, decision in self.decisions],
            "on_level_s": {level.value: seconds for level, seconds in self.on_level.items()},
            "switches": self.switches,
            "lost_s": self.lost_s,
            "lost_doing_nothing_s": self.idle_lost_s,
            "avoided_s": self.avoided_s,
            "unknown_s": self.unknown_s,
        }


def replay(recorded: Sequence[FallbackInputs], settings: FallbackSettings) -> Replayed:
    """Take a recording through the policy.

    A probe sees what the recording knows of the home level at that moment. What the recording does not know stays
    unknown: the policy then stays where it is, as it would have.

    Args:
        recorded: at least one, in order of time.
        settings: constants of the policy.
    """
    state = begin(settings, recorded[0].now)
    decisions: list[tuple[float, Decision]] = []
    on_level: dict[Level, float] = {}
    lost = idle = unknown = 0.0
    switches, said = 0, ""
    for inputs, after in zip(recorded, [*recorded[1:], recorded[-1]], strict=True):
        probe = None if state.probe_began is None else inputs.of(settings.home)
        state, decision = decide(state, replace(inputs, probe=probe), settings)
        key = "" if decision.act is Act.STAY else f"{decision.act} {decision.level}"
        if key and key != said:
            decisions.append((inputs.now, decision))
        said = key
        if decision.act is Act.SWITCH:
            switches += 1
            lost += settings.switch_cost_s
        seconds = min(settings.gap_s, max(0.0, after.now - inputs.now))
        on_level[state.level] = on_level.get(state.level, 0.0) + seconds
        shares = _lost(inputs, state.level, settings), _lost(inputs, settings.home, settings)
        if shares[0] is None or shares[1] is None:
            unknown += seconds
        else:
            lost, idle = lost + seconds * shares[0], idle + seconds * shares[1]
    return Replayed(recorded[0].now, recorded[-1].now, tuple(decisions), on_level, switches, lost, idle, unknown)


def _lost(inputs: FallbackInputs, level: Level, settings: FallbackSettings) -> float | None:
    """Share of the capacity lost on a level against the best one that is known."""
    here = inputs.of(level)
    known = [bounds.estimate for one in settings.levels if (bounds := inputs.of(one)) is not None]
    best = max(known, default=0.0)
    return None if here is None or best <= 0.0 else 1.0 - here.estimate / best

"""Lives of a deployment under the policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from specwatch_detectors.fallback.decision import Act, Decision
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.policy import begin, decide
from specwatch_detectors.payoff.payoff import Bounds

SETTINGS = FallbackSettings()
ROUND_S = 30.0


def around(value: float, width: float = 0.01) -> Bounds:
    return Bounds(value * (1 - width), value, value * (1 + width))


def told(now: float, draft: float, ngram: float = 1.2, **changes: object) -> FallbackInputs:
    known = FallbackInputs(
        now=now,
        measured_at=now,
        speedup={Level.DRAFT: around(draft), Level.NGRAM: around(ngram)},
        effective_drafts=1000.0,
    )
    return replace(known, **changes)  # type: ignore[arg-type]


@dataclass
class Life:
    """A deployment under the policy, whose true speed-up of the draft is a function of time."""

    draft: Callable[[float], float]
    ngram: float = 1.2
    rules: FallbackSettings = SETTINGS
    stated: float | None = None  # what n-gram is said to give until it is in use; the truth if None
    state: FallbackState = field(init=False)
    now: float = 0.0
    decisions: list[tuple[float, Decision]] = field(default_factory=list)
    lost_s: float = 0.0
    switches: int = 0

    def __post_init__(self) -> None:
        self.state = begin(self.rules, 0.0)

    def until(self, end: float, **changes: object) -> Life:
        while self.now < end:
            self.now += ROUND_S
            draft = self.draft(self.now)
            probe = around(draft) if self.state.probe_began is not None else None
            ngram = self.ngram if self.stated is None or self.state.level is Level.NGRAM else self.stated
            inputs = told(self.now, draft, ngram, probe=probe, **changes)
            here = (
                draft if self.state.level is Level.DRAFT else self.ngram if self.state.level is Level.NGRAM else 1.0
            )
            best = max(draft, self.ngram, 1.0)
            self.lost_s += ROUND_S * (1.0 - here / best)
            self.state, decision = decide(self.state, inputs, self.rules)
            if decision.act is Act.SWITCH:
                self.switches += 1
                self.lost_s += self.rules.switch_cost_s
            self.decisions.append((self.now, decision))
        return self

    def acts(self) -> list[tuple[Act, Level]]:
        """Decisions other than to stay or to go on probing, in order."""
        kept = [d for _, d in self.decisions if d.act not in {Act.STAY, Act.PROBE}]
        return [(d.act, d.level) for d in kept]

    def went(self) -> list[Level]:
        """Levels that were switched to, in order."""
        return [d.level for _, d in self.decisions if d.act is Act.SWITCH]

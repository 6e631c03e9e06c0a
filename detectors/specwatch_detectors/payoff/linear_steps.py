"""Step times as a line in what a step carries: T = c_f + c_c tokens + c_kv KV + o.

tokens is what the target computes in the step, batch (1 + drafted); KV the tokens in the cache that attention
reads, batch times context; o the engine's own work. A drafter with weights adds its own c_f, a part per draft
position and a part per KV token; n-gram lookup adds a share of the verification. Form and constants for one GPU:
SmartSpec (arXiv:2406.14066), and the simulator of arXiv:2601.11580.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specwatch_detectors.payoff.measured_steps import Timed
from specwatch_detectors.payoff.step_cost import ASSUMED_CONTEXT, EXTRAPOLATED, Load, Unknown


@dataclass(frozen=True, slots=True)
class StepConstants:
    """A target on its hardware.

    Attributes:
        fixed: c_f, seconds of a forward pass whatever it carries (reading the weights).
        per_token: c_c, seconds per token computed.
        per_kv_token: c_kv, seconds per token read from the KV cache.
        overhead: o, seconds of a step outside the forward pass.
    """

    fixed: float
    per_token: float
    per_kv_token: float
    overhead: float = 0.0

    def forward(self, tokens: float, kv_tokens: float) -> float:
        """Seconds of the target's forward pass."""
        return self.fixed + self.per_token * tokens + self.per_kv_token * kv_tokens

    def step(self, tokens: float, kv_tokens: float) -> float:
        """Seconds of a step, overhead included."""
        return self.forward(tokens, kv_tokens) + self.overhead


@dataclass(frozen=True, slots=True)
class DraftConstants:
    """A drafter beside that target.

    Attributes:
        fixed: seconds per step in which anything is drafted.
        per_depth: seconds per draft position, whatever the batch.
        per_kv_token: seconds per token read from the drafter's KV cache.
        verify_share: seconds over those of the target's forward pass; for lookup without a model.
    """

    fixed: float = 0.0
    per_depth: float = 0.0
    per_kv_token: float = 0.0
    verify_share: float = 0.0

    def seconds(self, depth: float, kv_tokens: float, verify_seconds: float) -> float:
        """Seconds that drafting adds to a step."""
        own = self.fixed + self.per_depth * depth + self.per_kv_token * kv_tokens
        return own + self.verify_share * verify_seconds


class LinearSteps:
    """Computes step times from constants.

    Args:
        target: constants of the target.
        drafters: by method.
        batches: smallest and largest batch of the fit; outside it the answer is marked.
        context: tokens of context to assume, marked, where nobody knows them.
        relative_error: of a step time, or None.
    """

    def __init__(
        self,
        target: StepConstants,
        drafters: Mapping[str, DraftConstants],
        *,
        batches: tuple[float, float],
        context: float,
        relative_error: float | None = None,
    ) -> None:
        self.target = target
        self.drafters = dict(drafters)
        self.batches = batches
        self.context = context
        self.relative_error = relative_error

    def plain(self, load: Load) -> Timed | Unknown:
        """A step without speculation."""
        batch, kv_tokens = self._size(load)
        return self._timed(self.target.step(batch, kv_tokens), load)

    def idle(self, method: str, load: Load) -> Timed | Unknown:
        """Constants do not say what an engine does while it drafts nothing."""
        return Unknown(f"the profile has no step time of {method} with nothing drafted at batch {load.batch:.3g}")

    def speculating(self, method: str, load: Load) -> Timed | Unknown:
        """A step with speculation."""
        drafter = self.drafters.get(method)
        if drafter is None:
            known = ", ".join(sorted(self.drafters)) or "none"
            return Unknown(f"the profile has no constants for {method} (it has {known})")
        batch, kv_tokens = self._size(load)
        verify = self.target.forward(batch * (1.0 + load.drafted), kv_tokens)
        drafting = drafter.seconds(load.drafted, kv_tokens, verify)
        return self._timed(verify + self.target.overhead + drafting, load)

    def _size(self, load: Load) -> tuple[float, float]:
        batch = max(1.0, load.batch)
        return batch, batch * (self.context if load.context is None else load.context)

    def _timed(self, seconds: float, load: Load) -> Timed:
        outside = not self.batches[0] <= max(1.0, load.batch) <= self.batches[1]
        caveats = ((EXTRAPOLATED,) if outside else ()) + ((ASSUMED_CONTEXT,) if load.context is None else ())
        return Timed(seconds, self.relative_error, caveats)

"""Acceptance arithmetic: counts in, ratios out, unknown where a ratio does not exist."""

from __future__ import annotations

from dataclasses import dataclass


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Divide, or return None when either side is unknown or the denominator is not positive."""
    if numerator is None or denominator is None or denominator <= 0:
        return None
    return numerator / denominator


@dataclass(frozen=True, slots=True)
class Tally:
    """Speculative counts over some span: a window, a request, or an engine's lifetime.

    Attributes:
        drafts: verifications that had a draft; None if the engine does not say.
        draft_tokens: tokens proposed.
        accepted_tokens: tokens kept, bonus excluded.
        accepted_per_position: drafts whose accepted prefix reached position j; index j, empty if not told, None
            where a position is missing.
        position_drafts: draft steps behind `accepted_per_position` when they differ from `drafts`
            (TensorRT-LLM counts positions over finished requests only).
        drafted_per_position: drafts that proposed a token at position j, where the engine tells.
    """

    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_per_position: tuple[float | None, ...] = ()
    position_drafts: float | None = None
    drafted_per_position: tuple[float | None, ...] = ()

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / draft tokens, 0 to 1; None when nothing was drafted."""
        return ratio(self.accepted_tokens, self.draft_tokens)

    @property
    def mean_acceptance_length(self) -> float | None:
        """Tokens per draft step, bonus included: 1 + accepted / drafts; None without drafts."""
        share = ratio(self.accepted_tokens, self.drafts)
        return None if share is None else 1.0 + share

    @property
    def per_position(self) -> tuple[float | None, ...]:
        """Unconditional acceptance p_j = accepted at j / drafts."""
        base = self.drafts if self.position_drafts is None else self.position_drafts
        return tuple(ratio(count, base) for count in self.accepted_per_position)

    @property
    def conditional(self) -> tuple[float | None, ...]:
        """Conditional acceptance q_j = p_j / p_{j-1}, with q_0 = p_0."""
        base = self.drafts if self.position_drafts is None else self.position_drafts
        before = (base, *self.accepted_per_position[:-1])
        return tuple(ratio(count, prior) for count, prior in zip(self.accepted_per_position, before, strict=False))

    @property
    def per_drafted(self) -> tuple[float | None, ...]:
        """Accepted at j / drafts that proposed position j: unbiased when the number of draft tokens varies."""
        pairs = zip(self.accepted_per_position, self.drafted_per_position, strict=False)
        return tuple(ratio(count, drafted) for count, drafted in pairs)


def from_histogram(histogram: tuple[int, ...]) -> tuple[float, ...]:
    """Accepted per position from a histogram of accepted counts per step.

    Args:
        histogram: index m holds the number of steps that accepted exactly m tokens; length K+1.

    Returns:
        K values: steps that accepted more than j tokens, for j = 0 to K-1.
    """
    reached: list[float] = []
    running = 0
    for count in reversed(histogram[1:]):
        running += count
        reached.append(float(running))
    return tuple(reversed(reached))

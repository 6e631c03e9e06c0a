"""What one stream of traffic drafted and accepted in one interval: the observation of every detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# A page is written while the engine counts: its parts may differ by a step or two.
_FULL_DEPTH: Final = 0.98


@dataclass(frozen=True, slots=True)
class Window:
    """Counts of one interval, of one model (and class, and pod) or of several added up.

    Attributes:
        drafts: draft steps N, >= 0.
        accepted: s_1..s_k, drafts whose first j tokens were all accepted; empty if the engine has no positions.
        trials: drafts that had position j verified behind an accepted prefix, j = 1..k; as long as `accepted`.
            Accepted / trials is the conditional acceptance q_j.
        accepted_tokens: accepted tokens, all positions, also those that `accepted` leaves out.
        censored: True if drafts were of different depths and the engine does not say how many reached each
            position: then only position 1, whose trials are all drafts, is in `accepted`.
    """

    drafts: float = 0.0
    accepted: tuple[float, ...] = ()
    trials: tuple[float, ...] = ()
    accepted_tokens: float = 0.0
    censored: bool = False

    def __add__(self, other: Window) -> Window:
        """Both intervals, or both pods, as one: counts add, position by position."""
        return Window(
            self.drafts + other.drafts,
            _added(self.accepted, other.accepted),
            _added(self.trials, other.trials),
            self.accepted_tokens + other.accepted_tokens,
            self.censored or other.censored,
        )

    def scaled(self, share: float) -> Window:
        """The same shape with that share of the counts."""
        return Window(
            self.drafts * share,
            tuple(value * share for value in self.accepted),
            tuple(value * share for value in self.trials),
            self.accepted_tokens * share,
            self.censored,
        )

    @property
    def length(self) -> float | None:
        """Mean acceptance length tau = 1 + accepted / drafts; None without drafts: 0/0 is unknown."""
        return 1.0 + self.accepted_tokens / self.drafts if self.drafts else None


NOTHING: Final = Window()
"""No drafts: zero evidence, whatever the detector."""


def window(
    drafts: float,
    accepted: Sequence[float] = (),
    *,
    accepted_tokens: float | None = None,
    draft_tokens: float | None = None,
    drafted: Sequence[float] = (),
) -> Window:
    """Make a window from counts as engines export them.

    With drafts of several depths the engine's `accepted` at position j counts fewer drafts than had reached j - 1.
    Where `drafted` tells how many had position j, the trials are taken in proportion (exact if depth does not
    depend on acceptance). Where it does not, only position 1 is kept.

    Args:
        drafts: draft steps.
        accepted: accepted tokens by position, first position first.
        accepted_tokens: accepted tokens in total; the sum of `accepted` if None.
        draft_tokens: tokens proposed in total, to notice drafts of several depths.
        drafted: tokens proposed by position, where the engine tells.

    Raises:
        ValueError: a count is negative.
    """
    total = sum(accepted) if accepted_tokens is None else accepted_tokens
    if min((drafts, total, *accepted, *drafted), default=0.0) < 0.0:
        raise ValueError("counts of an interval are not negative; subtract counters per series, resets aside")
    if drafts <= 0.0:
        return NOTHING
    if drafted:
        return _with_trials(drafts, accepted, drafted, total)
    censored = bool(
        draft_tokens is not None and len(accepted) > 1 and draft_tokens < _FULL_DEPTH * len(accepted) * drafts
    )
    kept = tuple(accepted[:1] if censored else accepted)
    chain = _falling(drafts, kept)
    return Window(drafts, chain, (drafts, *chain[:-1])[: len(chain)], total, censored)


def _with_trials(drafts: float, accepted: Sequence[float], drafted: Sequence[float], total: float) -> Window:
    chain = _falling(drafts, accepted[: len(drafted)])
    trials: list[float] = []
    for position, kept in enumerate(chain):
        if position == 0:
            trials.append(max(kept, min(drafts, drafted[0])))
            continue
        share = min(1.0, drafted[position] / drafted[position - 1]) if drafted[position - 1] else 0.0
        trials.append(max(kept, chain[position - 1] * share))
    return Window(drafts, chain, tuple(trials), total)


def _falling(drafts: float, accepted: Sequence[float]) -> tuple[float, ...]:
    """The counts as a chain: a later position is never accepted more often than an earlier one."""
    chain: list[float] = []
    for value in accepted:
        chain.append(min(value, chain[-1] if chain else drafts))
    return tuple(chain)


def _added(left: tuple[float, ...], right: tuple[float, ...]) -> tuple[float, ...]:
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    return tuple(value + (shorter[j] if j < len(shorter) else 0.0) for j, value in enumerate(longer))

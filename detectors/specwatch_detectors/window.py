"""What one stream of traffic drafted and accepted in one interval: the observation of every detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FULL_DEPTH: Final = 0.98
"""Share that counts as all: a page is read while the engine counts, and a last draft may be shorter."""


@dataclass(frozen=True, slots=True)
class Window:
    """Counts of one interval, of one model (and class, and pod) or of several added up.

    Attributes:
        drafts: draft steps N, >= 0.
        accepted: s_1..s_k, drafts whose first j tokens were all accepted; empty if the engine has no positions.
        trials: drafts that had position j verified behind an accepted prefix, j = 1..k; as long as `accepted`.
            Accepted / trials is the conditional acceptance q_j.
        accepted_tokens: accepted tokens, all positions, also those that `accepted` leaves out.
        censored: True if drafts were of different depths and the engine does not say how many had each position:
            then only position 1, whose trials are all drafts, is in `accepted`. Drafts of one depth, whatever it
            is, have exactly that many positions: what was not drafted was not rejected either.
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

    def depth(self, share: float = FULL_DEPTH) -> int:
        """Positions that at least this share of the drafts is known to have had."""
        had, before = 1.0, self.drafts
        for position, (kept, tried) in enumerate(zip(self.accepted, self.trials, strict=True)):
            if before > 0.0:
                had *= min(1.0, tried / before)
            if had < share:
                return position
            before = kept
        return len(self.accepted)

    def first(self, positions: int) -> Window:
        """The counts of the first positions alone, with the accepted tokens of drafts that had just these."""
        if not self.accepted:
            return self
        share = total = 1.0
        for kept, tried in zip(self.accepted[:positions], self.trials, strict=False):
            share *= kept / tried if tried > 0.0 else 0.0
            total += share
        accepted, trials = self.accepted[:positions], self.trials[:positions]
        return Window(self.drafts, accepted, trials, (total - 1.0) * self.drafts, self.censored)

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

    The number of tokens per draft changes while engines run (by batch size, by restart). Where `drafted` tells how
    many drafts had each position, the trials behind an accepted prefix are taken in proportion (exact if depth does
    not depend on acceptance). Where it does not, `draft_tokens` tells the depth of an interval whose drafts all had
    the same: a whole number of tokens per draft, and nothing accepted behind. Otherwise only position 1 is kept,
    which every draft has.

    Args:
        drafts: draft steps.
        accepted: accepted tokens by position, first position first.
        accepted_tokens: accepted tokens in total; the sum of `accepted` if None.
        draft_tokens: tokens proposed in total, to know how deep drafts were.
        drafted: tokens proposed by position, where the engine tells.

    Raises:
        ValueError: a count is negative.
    """
    total = sum(accepted) if accepted_tokens is None else accepted_tokens
    if min((drafts, total, *accepted, *drafted), default=0.0) < 0.0:
        raise ValueError("counts of an interval are not negative; subtract counters per series, resets aside")
    if drafts <= 0.0:
        return NOTHING
    if any(drafted):
        return _with_trials(drafts, accepted, drafted, total)
    depth = _one_depth(drafts, accepted, draft_tokens)
    chain = _falling(drafts, accepted[: 1 if depth is None else depth])
    return Window(drafts, chain, (drafts, *chain[:-1])[: len(chain)], total, depth is None)


def _one_depth(drafts: float, accepted: Sequence[float], draft_tokens: float | None) -> int | None:
    """Positions of every draft, or None if drafts were of different depths."""
    most = len(accepted)
    if most <= 1 or draft_tokens is None or draft_tokens >= FULL_DEPTH * most * drafts:
        return most
    each = draft_tokens / drafts
    depth = max(1, round(each))
    whole = FULL_DEPTH * depth <= each <= (2.0 - FULL_DEPTH) * depth
    return depth if whole and accepted[depth] <= 0.0 else None


def _with_trials(drafts: float, accepted: Sequence[float], drafted: Sequence[float], total: float) -> Window:
    had = sum(1 for value in drafted if value > 0.0)
    chain = _falling(drafts, accepted[:had])
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

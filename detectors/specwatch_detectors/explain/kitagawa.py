"""Kitagawa split: how much of a change of acceptance is the mix of traffic, and how much lies within groups.

With shares of drafts w and accepted tokens per draft m of groups c, before (0) and after (1):

    change = sum_c (w1 - w0) (m0 + m1) / 2   [mix]   +   sum_c (m1 - m0) (w0 + w1) / 2   [within]

The two terms add up to the change exactly. A group that exists on one side only has no mean on the other; it is
given the same mean, so that its coming or going is mix.

Standard errors by the delta method: means have variance d_c v_c / N_c (v_c: `chain.variance`), shares are
multinomial with a design effect of their own, because a request brings many drafts at once. Means and shares are
taken as independent. Failure mode: groups whose drafts hang together over hours (few large clients) need a larger
design effect than the default. Source: Kitagawa 1955; Oaxaca 1973; design effects: Kish 1965.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_detectors.explain.comparison import Comparison, mean, mean_variance
from specwatch_detectors.window import Window

REAL_ERRORS: Final = 4.0
REAL_SHARE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Term:
    """A number with its standard error, in accepted tokens per draft."""

    value: float
    error: float

    def real(self, length: float) -> bool:
        """More than 4 standard errors, and more than 1 % of an acceptance length."""
        return abs(self.value) > REAL_ERRORS * self.error and abs(self.value) > REAL_SHARE * length


@dataclass(frozen=True, slots=True)
class Part:
    """One group's part of the change.

    Attributes:
        name: of the group.
        share_before: of all drafts, 0 to 1.
        share_after: likewise.
        mean_before: accepted tokens per draft; that after if there was none before.
        mean_after: likewise.
        mix: its part of the mix term.
        within: its part of the within term.
        change: its own change of accepted tokens per draft, with its error.
    """

    name: str
    share_before: float
    share_after: float
    mean_before: float
    mean_after: float
    mix: float
    within: float
    change: Term


@dataclass(frozen=True, slots=True)
class Split:
    """The change of all groups together, and its two terms.

    Attributes:
        total: accepted tokens per draft, after minus before.
        mix: what the shares changed.
        within: what changed inside the groups.
        length: acceptance length before, bonus token included.
        parts: by group, in order of name.
    """

    total: Term
    mix: Term
    within: Term
    length: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    shares: tuple[float, float]
    means: tuple[float, float]
    variances: tuple[float, float]


def split(
    groups: Mapping[str, Comparison], design: float, designs: Mapping[str, float] | None = None
) -> Split | None:
    """Split the change between two spans.

    Args:
        groups: by name; together they are the traffic.
        design: design effect of groups that `designs` lacks, and of the shares.
        designs: design effect by group.

    Returns:
        None without drafts before or after.
    """
    drafts = (
        sum(group.before.drafts for group in groups.values()),
        sum(group.after.drafts for group in groups.values()),
    )
    if min(drafts) <= 0.0:
        return None
    own = {} if designs is None else designs
    found = {
        name: _group(group, drafts, own.get(name, design)) for name, group in sorted(groups.items()) if _any(group)
    }
    parts = tuple(_part(name, group) for name, group in found.items())
    kinds = tuple(found.values())
    old, new = (sum(group.shares[side] * group.means[side] for group in kinds) for side in (0, 1))
    shares = (design / drafts[0], design / drafts[1])
    return Split(
        Term(new - old, _total_error(kinds, shares)),
        Term(sum(part.mix for part in parts), _mix_error(kinds, shares)),
        Term(sum(part.within for part in parts), _within_error(kinds, shares)),
        1.0 + old,
        parts,
    )


def _any(group: Comparison) -> bool:
    return group.before.drafts > 0.0 or group.after.drafts > 0.0


def _group(group: Comparison, drafts: Sequence[float], design: float) -> _Group:
    before, after = mean(group.before), mean(group.after)
    old = before if before is not None else after
    new = after if after is not None else before
    shares = (group.before.drafts / drafts[0], group.after.drafts / drafts[1])
    return _Group(shares, (old or 0.0, new or 0.0), (_error2(group.before, design), _error2(group.after, design)))


def _error2(window: Window, design: float) -> float:
    """A mean that does not exist was copied from the other side, and adds no error of its own."""
    return mean_variance(window, design) if window.drafts > 0.0 else 0.0


def _part(name: str, group: _Group) -> Part:
    (w0, w1), (m0, m1) = group.shares, group.means
    change = Term(m1 - m0, math.sqrt(sum(group.variances)))
    return Part(name, w0, w1, m0, m1, (w1 - w0) * (m0 + m1) / 2.0, (m1 - m0) * (w0 + w1) / 2.0, change)


def _spread(groups: Sequence[_Group], side: int, values: Sequence[float]) -> float:
    """Variance of sum w x over a multinomial w of one draft: sum w x^2 - (sum w x)^2."""
    centre = sum(group.shares[side] * value for group, value in zip(groups, values, strict=True))
    square = sum(group.shares[side] * value**2 for group, value in zip(groups, values, strict=True))
    return max(0.0, square - centre**2)


def _total_error(groups: Sequence[_Group], shares: tuple[float, float]) -> float:
    found = 0.0
    for side in (0, 1):
        found += shares[side] * _spread(groups, side, [group.means[side] for group in groups])
        found += sum(group.shares[side] ** 2 * group.variances[side] for group in groups)
    return math.sqrt(found)


def _mix_error(groups: Sequence[_Group], shares: tuple[float, float]) -> float:
    centres = [sum(group.means) / 2.0 for group in groups]
    found = sum(shares[side] * _spread(groups, side, centres) for side in (0, 1))
    found += sum(((group.shares[1] - group.shares[0]) / 2.0) ** 2 * sum(group.variances) for group in groups)
    return math.sqrt(found)


def _within_error(groups: Sequence[_Group], shares: tuple[float, float]) -> float:
    halves = [(group.means[1] - group.means[0]) / 2.0 for group in groups]
    found = sum(shares[side] * _spread(groups, side, halves) for side in (0, 1))
    found += sum((sum(group.shares) / 2.0) ** 2 * sum(group.variances) for group in groups)
    return math.sqrt(found)

"""How deep to draft: each further position must bring more than it costs.

Position j brings p_j tokens per step (p_j unconditional) for T_j - T_{j-1} seconds. It pays while
p_j > (T_j - T_{j-1}) / (T / tau): a marginal token must not cost more than the average one does.
"""

from __future__ import annotations

from collections.abc import Sequence


def positions_paying(p: Sequence[float], seconds: Sequence[float]) -> tuple[bool, ...]:
    """Whether each position earns its price at the depth in use.

    Args:
        p: unconditional acceptance p_1..p_K.
        seconds: step time when 0, 1, .. K tokens are drafted: one more than `p`.

    Raises:
        ValueError: lengths do not fit.
    """
    if len(seconds) != len(p) + 1:
        raise ValueError(f"{len(p)} positions need {len(p) + 1} step times, not {len(seconds)}")
    price = seconds[-1] / (1.0 + sum(p))
    return tuple(kept > (seconds[j + 1] - seconds[j]) / price for j, kept in enumerate(p))


def best_depth(p: Sequence[float], seconds: Sequence[float]) -> int:
    """The K in 0..len(p) with most tokens per second; the smallest of equals, 0 for no speculation.

    A drafter's first token carries its whole fixed cost, so the marginal rule alone would stop at 0 where deeper
    drafts pay; every depth is compared instead.

    Raises:
        ValueError: lengths do not fit.
    """
    if len(seconds) != len(p) + 1:
        raise ValueError(f"{len(p)} positions need {len(p) + 1} step times, not {len(seconds)}")
    best, most, tokens = 0, 1.0 / seconds[0], 1.0
    for depth, kept in enumerate(p, start=1):
        tokens += kept
        rate = tokens / seconds[depth]
        if rate > most * (1.0 + 1e-12):
            best, most = depth, rate
    return best

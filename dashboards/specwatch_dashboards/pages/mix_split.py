"""Why τ moved: the change against a day ago, split into the mix of classes and what happened within them.

Kitagawa's split of a difference of two weighted means: each effect is weighted with the mean of then and now, so
that both add up to the whole and neither day is the reference. (E. M. Kitagawa, Components of a Difference Between
Two Rates, 1955.)
"""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.promql import CLASS, CLASSES, MODEL, ratio

_DRAFTS: Final = "specwatch:request_drafts:rate5m"
_KEPT: Final = "specwatch:request_accepted_tokens:rate5m"
_DAY: Final = " offset 1d"


def _weight(offset: str) -> str:
    own = f"sum by ({CLASS}) ({_DRAFTS}{{{CLASSES}}}{offset})"
    return ratio(own, f"sum by ({MODEL}) ({_DRAFTS}{{{CLASSES}}}{offset})", f"on ({MODEL}) group_left ()")


def _length(offset: str) -> str:
    return ratio(
        f"sum by ({CLASS}) ({_KEPT}{{{CLASSES}}}{offset})", f"sum by ({CLASS}) ({_DRAFTS}{{{CLASSES}}}{offset})"
    )


def within_effect() -> str:
    """Tokens per draft step that the classes gained or lost, at the mean mix of then and now."""
    return f"0.5 * sum by ({MODEL}) (({_weight('')} + {_weight(_DAY)}) * ({_length('')} - {_length(_DAY)}))"


def mix_effect() -> str:
    """Tokens per draft step that the change of mix gained or lost, at the mean length of then and now."""
    return f"0.5 * sum by ({MODEL}) (({_length('')} + {_length(_DAY)}) * ({_weight('')} - {_weight(_DAY)}))"

"""What the engine of a level changes by itself: as it is configured, or as its K is seen to change.

A controller outside must not fight one inside. vLLM changes K by batch and trims what is verified, SGLang changes
K, each where it is configured to; sidecar and plugin export that. Where nobody could ask the engine, K that changed
three times within an hour says the same, as `change_watch` has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from specwatch_detectors.change_watch import ADAPTIVE_CHANGES, ADAPTIVE_SPAN_S


def adaptation(declared: Iterable[Mapping[str, str]], depths: Iterable[Sequence[tuple[float, float]]]) -> str:
    """In a few words, or empty.

    Args:
        declared: labels of what engines are configured to change.
        depths: K of each pod, pairs of time and value.
    """
    found = sorted({labels.get("what") or "its drafting" for labels in declared})
    if not found and any(changes_by_itself(own) for own in depths):
        return f"K, which changed {ADAPTIVE_CHANGES} times within an hour"
    return ", ".join(found)


def changes_by_itself(depths: Sequence[tuple[float, float]]) -> bool:
    """Whether K changed as often as nobody changes it."""
    at = [after[0] for before, after in pairwise(depths) if before[1] != after[1]]
    return any(last - first <= ADAPTIVE_SPAN_S for first, last in zip(at, at[ADAPTIVE_CHANGES - 1 :], strict=False))

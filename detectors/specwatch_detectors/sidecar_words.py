"""An explanation in words, and when one is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.reading import DriftState

AGAIN_S: Final = 30.0
"""An explanation is looked for again this often while the drift lasts: more drafts tell more."""
UNNAMED_AGAIN_S: Final = 2.0
"""The same while no cause is named."""


@dataclass(frozen=True, slots=True)
class Words:
    """An explanation for people.

    Attributes:
        cause: in a few words, or empty if none is named.
        details: evidence for and against, one sentence each.
        next_steps: what to check.
    """

    cause: str
    details: tuple[str, ...]
    next_steps: tuple[str, ...]


def wants_explanation(reading: ModelReading) -> bool:
    """Whether there is anything to explain."""
    return reading.mix_shift or reading.verdict.state is DriftState.DRIFTED

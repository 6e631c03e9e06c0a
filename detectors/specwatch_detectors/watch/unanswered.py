"""What is known of a model while its source gives no answer: whether there were drafts is then not known either."""

from __future__ import annotations

from dataclasses import replace

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.reading import DriftState, Reading


def unanswered(known: ModelReading, late: ModelReading, why: str) -> ModelReading:
    """A reading that has grown old because nobody answers, with that as its reason.

    Args:
        known: at the end of what was read.
        late: the same a while later.
        why: that there is no answer, in a few words.
    """
    return replace(
        late,
        verdict=_unanswered(known.verdict, late.verdict, why),
        total=_unanswered(known.total, late.total, why),
        classes={name: _unanswered(known.classes[name], own, why) for name, own in late.classes.items()},
    )


def _unanswered(known: Reading, late: Reading, why: str) -> Reading:
    if late.state is not DriftState.CANNOT_TELL:
        return late
    state = "" if known.state is DriftState.CANNOT_TELL else f"{known.state.value}, "
    return replace(late, reason=f"{why}; before that: {state}{known.reason}")

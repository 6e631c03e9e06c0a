"""What a monitor says of one stream after an interval."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DriftState(StrEnum):
    """The four answers."""

    OK = "ok"
    WATCH = "watch"
    DRIFTED = "drifted"
    CANNOT_TELL = "cannot_tell"


class Change(StrEnum):
    """Something happened to the engine that acceptance may answer to."""

    RESTART = "restart"
    DEPLOY = "deploy"
    VERSION = "version"
    DEPTH = "depth"
    METHOD = "method"

    @property
    def words(self) -> str:
        """The event in a few words that fit behind `after` and `since`."""
        return _WORDS[self]


_WORDS = {
    Change.RESTART: "a restart of the engine",
    Change.DEPLOY: "a deploy",
    Change.VERSION: "a new engine version",
    Change.DEPTH: "another number of draft tokens",
    Change.METHOD: "another speculation method",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """State of one stream, with its reason.

    Attributes:
        state: ok, watch, drifted or cannot_tell.
        reason: why, in one sentence with numbers.
        score: evidence over threshold, 1 or more is an alarm; None while nothing can be judged.
        alarms: alarms so far.
        since: time at which the state's evidence began (the estimated onset when drifted); None when ok.
        length: acceptance length of the last minutes, bonus token included, or None.
        baseline_length: that of the baseline, or None.
        design: design effect in use, safety factor included.
        over: evidence that the drift is over, over its threshold: 0 to 1; None where there is no drift.
        calibrated: the baseline comes from a profile whose false-alarm rate was checked on history.
    """

    state: DriftState
    reason: str
    score: float | None = None
    alarms: int = 0
    since: float | None = None
    length: float | None = None
    baseline_length: float | None = None
    design: float | None = None
    over: float | None = None
    calibrated: bool = False


def compared(reading: Reading) -> str:
    """Acceptance length of the last minutes beside the baseline's, in words."""
    if reading.length is None or reading.baseline_length is None:
        return "no drafts lately"
    return f"acceptance length {reading.length:.2f}, baseline {reading.baseline_length:.2f}"

"""An explanation in words, when one is wanted, and for how long it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.reading import DriftState

AGAIN_S: Final = 30.0
"""An explanation is looked for again this often while the drift lasts: more drafts tell more."""
UNNAMED_AGAIN_S: Final = 2.0
"""The same while no cause is named."""
_SAME_S: Final = 60.0
"""A drift that began later than the one before by more than this is another one."""


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


class Account:
    """The explanation of one verdict, which holds as long as the verdict does.

    What explains a drift is seen around its beginning. Later, or after a restart of the watch, less is known of
    that time: a cause that was named stays, until the evidence names another or speaks against it.
    """

    def __init__(self) -> None:
        self.words: Words | None = None
        self._about: tuple[DriftState, bool, int] | None = None
        self._since: float | None = None
        self._events = 0
        self._explained = 0.0

    def follow(self, reading: ModelReading) -> None:
        """Drop the words if they are about another verdict than the present one; silence and doubt are none."""
        about_another = wants_explanation(reading) and not self._holds(reading)
        if reading.verdict.state is DriftState.OK or about_another:
            self.words = None

    def _holds(self, reading: ModelReading) -> bool:
        since, before = reading.verdict.since, self._since
        later = since is not None and before is not None and since > before + _SAME_S
        return self._about == _about(reading) and not later

    def due(self, events: int, now: float) -> bool:
        """Whether to look for an explanation now, with so many events known."""
        wait = AGAIN_S if self.words is not None and self.words.cause else UNNAMED_AGAIN_S
        return self.words is None or events != self._events or now - self._explained >= wait

    def take(self, words: Words, reading: ModelReading, events: int, now: float) -> None:
        """These are the words from now on."""
        self.words, self._about, self._since = words, _about(reading), reading.verdict.since
        self._events, self._explained = events, now

    def shown(self, reading: ModelReading) -> Words | None:
        """The words, if they belong beside this reading."""
        return self.words if wants_explanation(reading) and self._holds(reading) else None

    def rebase(self, now: float) -> None:
        """Kept times in the future are moved to now."""
        self._since = None if self._since is None else min(self._since, now)
        self._explained = min(self._explained, now)

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        words = self.words
        return {
            "about": None if self._about is None else list(self._about),
            "since": self._since,
            "words": None if words is None else [words.cause, list(words.details), list(words.next_steps)],
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Account:
        """Go on from what `state` gave; what is wrong with another form is an error of `kept_part.MALFORMED`."""
        account, about, words, since = cls(), state["about"], state["words"], state["since"]
        if about is None or words is None:
            return account
        drift, mix_shift, alarms = about
        cause, details, steps = words
        account.words = Words(str(cause), tuple(map(str, details)), tuple(map(str, steps)))
        account._about = DriftState(drift), bool(mix_shift), int(alarms)
        account._since = None if since is None else float(since)
        return account


def _about(reading: ModelReading) -> tuple[DriftState, bool, int]:
    return reading.verdict.state, reading.mix_shift, reading.verdict.alarms

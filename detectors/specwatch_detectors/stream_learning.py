"""What a stream learns: its baseline while that is young, and that of a new version beside the one that judges.

A baseline that is good enough for all members of the bank learns no more; only positions that it does not judge yet
are added to it. After a deploy the acceptance of the new version is learned apart, and takes over once it is known
well enough: until then the old one judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.drift_bank import DriftBank
from specwatch_detectors.window import Window

_GROWTH: Final = 1.25
_REFIT_EVERY: Final = 180
_RIPE: Final = 0.25
"""Of the old baseline's drafts, from which the next one is looked at."""


class NewBank(Protocol):
    """Makes a bank on a baseline."""

    def __call__(self, baseline: Baseline, *, judged: int = 0) -> DriftBank:
        """That judges at least so many positions."""


class StreamLearning:
    """The baselines of one stream.

    Args:
        baseline: what is known already.

    Attributes:
        baseline: the one that judges, with what has been learned since it was last looked at.
        next: that of a new version; None while there is none.
        frozen: the baseline is good enough for all members of the bank.
    """

    __slots__ = ("_young", "baseline", "frozen", "next")

    def __init__(self, baseline: Baseline) -> None:
        self.baseline = baseline
        self.next: Baseline | None = None
        self.frozen = False
        self._young = 0.0
        """Trials of positions that were not judged yet, at the last look whether they are known well enough."""

    def take(self, observation: Window, bank: DriftBank) -> None:
        """Learn from one interval, if there is something to learn."""
        if not self.frozen or len(observation.accepted) > bank.judged > 0:
            self.baseline = self.baseline.learned(observation)

    def due(self, bank: DriftBank, intervals: int) -> bool:
        """Whether more is known by now: of the spread, of positions that are not judged yet, of the baseline.

        Args:
            bank: the one that judges.
            intervals: that the spread is known from.
        """
        counts = self.baseline.counts
        if not self.frozen:
            return counts.drafts >= _GROWTH * max(1.0, bank.baseline.counts.drafts)
        tried = sum(counts.trials[bank.judged :]) if bank.judged else 0.0
        if tried > 0.0 and tried >= _GROWTH * self._young:
            self._young = tried
            return True
        return intervals % _REFIT_EVERY == 0

    def renew(self) -> None:
        """There is a new version, or what was learned of it may be drift already: its baseline begins anew."""
        self.next = Baseline()

    def ripen(self, bank: DriftBank, new_bank: NewBank) -> DriftBank | None:
        """The bank of the next baseline once it is known well enough, which then is the baseline.

        Positions that it does not know well yet are judged by the old one for now.

        Args:
            bank: the one that judges.
            new_bank: makes another.
        """
        if self.next is None or self.next.counts.drafts < _RIPE * bank.baseline.counts.drafts:
            return None
        ripe = new_bank(self.next)
        if not ripe.complete:
            return None
        old = bank.judged > ripe.judged
        self.baseline = ripe.baseline.followed_by(bank.baseline) if old else self.next
        found = new_bank(self.baseline, judged=bank.judged) if old else ripe
        self.next, self._young, self.frozen = None, 0.0, found.complete
        return found

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "learning": self.baseline.as_json(),
            "next": None if self.next is None else self.next.as_json(),
            "frozen": self.frozen,
            "young": self._young,
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> StreamLearning:
        """Go on from what `state` gave.

        Raises:
            KeyError, TypeError, ValueError: it is not the state of a learning.
        """
        found = cls(Baseline.from_json(state["learning"]))
        found.next = None if state["next"] is None else Baseline.from_json(state["next"])
        found.frozen, found._young = bool(state["frozen"]), float(state["young"])
        return found

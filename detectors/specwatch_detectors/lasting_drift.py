"""A drift that was found: what ends it, and whether a change of the engine makes it worse still.

It ends once a CUSUM from the mildest drift back to the baseline says that acceptance is back, which is not asked
less of because something was changed. A change made meanwhile is blamed for what it did itself: acceptance after it
is tested against what it was just before, as a deploy is against the baseline (`deploy_test.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.deploy_test import RATIO, DeployTest, Verdict
from specwatch_detectors.drift_bank import DriftBank, Member
from specwatch_detectors.fall import Fall
from specwatch_detectors.reading import Change
from specwatch_detectors.window import Window

_NEEDS: Final = Member(RATIO).needs


class LastingDrift:
    """One drift from its alarm on.

    Args:
        bank: of the baseline.
        threshold: nats of evidence for "as before" that end it.
        reason: what was found, in words.
    """

    def __init__(self, bank: DriftBank, threshold: float, reason: str) -> None:
        self.reason = reason
        self._clear = bank.clear_test(threshold)
        self._test: DeployTest | None = None
        self._change = Change.RESTART
        self._began: float | None = None

    @property
    def over(self) -> float:
        """Evidence that it is over, over its threshold: 0 to 1."""
        return min(1.0, self._clear.evidence / self._clear.threshold)

    def changed(self, change: Change, just_before: DriftBank) -> None:
        """The engine was changed; a restart that comes with another change is part of it.

        Args:
            change: which.
            just_before: of acceptance in the drift; where that is not known well enough, nothing is tested.
        """
        if change is not Change.RESTART or self._test is None:
            self._change = change
        self._clear.reset()
        self._test = just_before.deploy_test() if just_before.error <= _NEEDS else None
        self._began = None

    def update(self, observation: Window, began: float, fall: Fall, recent: Window) -> bool:
        """Take one interval with drafts in; true once acceptance is back.

        Args:
            observation: counts of the interval.
            began: its beginning, seconds.
            fall: what is known of acceptance in the drift; begins anew with a change that made it worse still.
            recent: the intervals since the last change.
        """
        if self._clear.update(observation) >= 1.0:
            return True
        if self._test is None:
            fall.hold(observation)
            return False
        self._began = began if self._began is None else self._began
        self._test.update(observation)
        if self._test.verdict is Verdict.WORSE:
            self.reason = f"acceptance had dropped before and is worse still since {self._change.words}"
            fall.begin_anew(self._began, recent)
        if self._test.verdict is not Verdict.OPEN:
            self._test = None
        return False

    def rebase(self, now: float) -> None:
        """Kept times in the future are moved to now."""
        self._began = None if self._began is None else min(self._began, now)

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "reason": self.reason,
            "clear": self._clear.state(),
            "test": None if self._test is None else self._test.state(),
            "change": self._change,
            "began": self._began,
        }

    @classmethod
    def restored(
        cls, state: Mapping[str, Any], bank: DriftBank, threshold: float, just_before: DriftBank
    ) -> LastingDrift:
        """Go on from what `state` gave, with the banks that there were.

        Raises:
            KeyError, TypeError, ValueError: it is not the state of a drift.
        """
        drift = cls(bank, threshold, str(state["reason"]))
        drift._clear = bank.clear_test(threshold, state["clear"])
        drift._test = None if state["test"] is None else just_before.deploy_test(state["test"])
        drift._change = Change(state["change"])
        drift._began = None if state["began"] is None else float(state["began"])
        return drift

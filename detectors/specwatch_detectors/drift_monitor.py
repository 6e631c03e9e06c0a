"""One stream watched: learns a baseline, tests against it, tests deploys, and says what it knows.

The life of a stream: learning (no judgement but a coarse one) -> watching -> drifted -> watching again once the
evidence says so. A change of the engine starts a deploy test against the last good baseline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.deploy_test import DeployTest, Verdict
from specwatch_detectors.drift_bank import DriftBank
from specwatch_detectors.fall import Fall
from specwatch_detectors.kept_monitor import KeptMonitor
from specwatch_detectors.lasting_drift import LastingDrift
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState, Reading
from specwatch_detectors.stream_learning import StreamLearning
from specwatch_detectors.stream_reading import Knowledge, Lengths, comparison, judgement, lengths
from specwatch_detectors.stream_spread import StreamSpread
from specwatch_detectors.window import NOTHING, Window

RELEARN: Final = frozenset({Change.DEPLOY, Change.VERSION, Change.METHOD})
_RECENT_FADE: Final = 0.9
_WHAT: Final = {"hard": "the first draft token is hardly ever accepted"}


class DriftMonitor(KeptMonitor):
    """Watches one stream.

    Args:
        settings: budget and limits.
        depth: draft tokens per draft (K), for engines without positions.
        baseline: from a calibrated profile; learned here if None.
        design: long-run design effect of the profile, without safety factor.
        threshold: h of the profile in nats; the budget's if None.
        state: what `state` of a predecessor gave; wins over the profile.

    Raises:
        ValueError: the state is not one of a monitor.
    """

    def __init__(
        self,
        settings: MonitorSettings = MonitorSettings(),  # noqa: B008 - immutable
        *,
        depth: int = 1,
        baseline: Baseline | None = None,
        design: float | None = None,
        threshold: float | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        self._settings = settings
        self._depth = depth
        self._threshold = settings.budget.threshold if threshold is None else threshold
        self.calibrated = baseline is not None and design is not None
        self.alarms = 0
        self._spread = StreamSpread(settings, design)
        self._learning = StreamLearning(Baseline() if baseline is None else baseline)
        self.bank = self._new_bank(self._learning.baseline)
        self._learning.frozen = self.bank.complete
        self._deploy: DeployTest | None = None
        self._deploy_change = Change.DEPLOY
        self._drift: LastingDrift | None = None
        self._fall = Fall()
        self._recent = NOTHING
        self._seen: float | None = None
        self._drafted: float | None = None
        if state is not None:
            self.restore(state)

    @property
    def testing_deploy(self) -> bool:
        """A deploy is being tested; the bank judges beside the test."""
        return self._deploy is not None

    @property
    def drifted(self) -> bool:
        """A drift was found, and nothing since says that it is over; silence does not."""
        return self._drift is not None

    @property
    def over(self) -> float | None:
        """Evidence that the drift is over, over its threshold: 0 to 1; None without a drift."""
        return None if self._drift is None else self._drift.over

    @property
    def fallen(self) -> Window:
        """Counts of judged positions since the evidence of a drop began; nothing while there is none."""
        counts = self._fall.counts
        return counts.first(min(self.bank.judged, counts.depth(0.5))) if self.bank.judged else counts

    def silence(self, now: float) -> float:
        """Seconds since the last drafts; infinite before any."""
        return math.inf if self._drafted is None else max(0.0, now - self._drafted)

    # Taking in.

    def update(self, observation: Window, now: float, began: float | None = None) -> Reading:
        """Take one interval in; one without drafts is no evidence.

        Args:
            observation: counts of the interval.
            now: its end, seconds of any clock that does not run backwards; an interval that is not newer than the
                last one is left out, because it was counted already.
            began: its beginning; the end of the last one if None.
        """
        if self._seen is not None and now <= self._seen:
            return self.reading(now)
        before = self._seen if began is None else began
        self._seen = now
        if observation.drafts <= 0.0:
            return self.reading(now)
        self._drafted = now
        self._recent = self._recent.scaled(_RECENT_FADE) + observation
        began = now if before is None else before
        if self._drift is not None:
            if self._drift.update(observation, began, self._fall, self._recent):
                self.recovered(observation)
            return self.reading(now)
        self._spread.update(observation)
        score = self.bank.update(observation)
        self._fall.take(observation, began, quiet=self.bank.quiet)
        if self._deploy is not None:
            self._test_deploy(observation)
        elif score >= 1.0 and self._fall.counts.drafts >= self._settings.least_effective * self.bank.design:
            self._alarm(_WHAT.get(self.bank.loudest, "acceptance has dropped"))
        self._learn(observation, score)
        return self.reading(now)

    def changed(self, change: Change) -> None:
        """The engine changed: test the draft against the last good baseline; another method starts anew.

        Another number of draft tokens starts anew without positions, because the mean depends on it; with them it
        changes nothing. A restart that comes with a deploy, in whatever order, is part of the deploy. A drift does
        not end with a change: that may have cured the draft, or made it worse still, or done nothing.
        """
        if change is Change.DEPTH and self.bank.baseline.q:
            self._deploy_change = self._deploy_change if self._deploy is None else change
            return
        self._recent = NOTHING
        if change in {Change.METHOD, Change.DEPTH} or not self.bank.members:
            self._start_anew()
            return
        part = change is Change.RESTART and self._learning.next is not None and self._deploy is not None
        renewed = part or change in RELEARN
        if self._drift is not None:
            self._drift.changed(change, self._just_before())
        else:
            self._deploy_change = self._deploy_change if part else change
            self.bank.reset()
            self._fall.end()
            self._deploy = self.bank.deploy_test()
            self._learning.next = None
        if renewed:
            self._learning.renew()
        if self._learning.next is not None:
            self._spread.renew(self.bank.design)

    def _just_before(self) -> DriftBank:
        """A bank on what acceptance is like in the drift."""
        return self._new_bank(Baseline(self._fall.counts), design=self.bank.design)

    def rebase(self, now: float) -> None:
        """Kept times that lie in the future (a clock that was ahead) are moved to now."""
        self._seen, self._drafted = (None if at is None else min(at, now) for at in (self._seen, self._drafted))
        self._fall.rebase(now)
        if self._drift is not None:
            self._drift.rebase(now)

    def recovered(self, observation: Window) -> None:
        """The drift is over, by the evidence here or by that of others: test again, against the same baseline.

        Args:
            observation: the last interval; what came before it would still show the drop.
        """
        self._recent = observation if observation.drafts > 0.0 else self._recent
        self._drift = None
        self.bank.reset()
        self._fall.end()

    def accept(self) -> None:
        """Somebody says that the present acceptance is the new normal: forget the baseline and learn again."""
        self._start_anew()

    def _start_anew(self) -> None:
        self._learning, self.calibrated = StreamLearning(Baseline()), False
        self._spread = StreamSpread(self._settings)
        self.bank = self._new_bank(self._learning.baseline)
        self._deploy = self._drift = None
        self._fall.end()

    def _alarm(self, what: str) -> None:
        self.alarms += 1
        self._fall.settle(self.bank.baseline, self._depth)
        self._recent = self._fall.counts  # from the onset on; what came before would make the drop look small
        self._drift = LastingDrift(self.bank, self._settings.clear_threshold, what)
        if self._learning.next is not None:
            self._learning.renew()

    def _test_deploy(self, observation: Window) -> None:
        """Only "worse" is news: the bank has judged beside the test, from the change on, and goes on."""
        test = self._deploy
        if test is None:
            return
        test.update(observation)
        if test.verdict is Verdict.OPEN:
            return
        change, self._deploy = self._deploy_change, None
        if test.verdict is Verdict.WORSE:
            self._learning.next = None
            self._alarm(f"acceptance is worse since {change.words}")

    # Learning.

    def _learn(self, observation: Window, score: float) -> None:
        if self._drift is not None or score >= self._settings.learn_below:
            return
        learning = self._learning
        if learning.next is not None:
            learning.next = learning.next.learned(observation)
            ripe = None if self._deploy is not None else learning.ripen(self.bank, self._new_bank)
            if ripe is not None:
                self.bank, self.calibrated = ripe, False
        elif self._deploy is None:  # what runs in a test of a deploy is not known to be good
            learning.take(observation, self.bank)
            if learning.due(self.bank, self._spread.intervals):
                self._refit()

    def _refit(self) -> None:
        """Judge by what is known by now; where the spread turns out wider, the baseline learns on."""
        before = self.bank.judged
        self.bank = self._new_bank(self._learning.baseline, self.bank.state(), judged=before)
        self._learning.frozen = self.bank.complete
        self.calibrated = self.calibrated and self.bank.judged <= before

    def _new_bank(
        self,
        baseline: Baseline,
        state: Mapping[str, Any] | None = None,
        design: float | None = None,
        *,
        judged: int = 0,
    ) -> DriftBank:
        if design is None:
            design = self._spread.design(baseline, self._depth)
        return DriftBank(
            baseline, design=design, threshold=self._threshold, depth=self._depth, state=state, judged=judged
        )

    # Saying.

    def reading(self, now: float) -> Reading:
        """What is known at a time; without fresh intervals nothing is, and a drift is not over."""
        bank = self.bank
        found = lengths(self._recent, bank.mean, bank.q)
        state, reason, score = judgement(self._knowledge(found), now, self._settings)
        return Reading(
            state,
            reason,
            score,
            self.alarms,
            since=self._since(state),
            length=self._recent.length if found is None else found.now,
            baseline_length=self._baseline_length() if found is None else found.baseline,
            design=bank.design,
            over=self.over if state is DriftState.DRIFTED else None,
            calibrated=self.calibrated,
        )

    def _since(self, state: DriftState) -> float | None:
        if state is DriftState.WATCH:
            return self._fall.onset(self.bank.baseline, self._depth)[0]
        return self._fall.since if state is DriftState.DRIFTED else None

    def _baseline_length(self) -> float | None:
        """That of full depth: before the first drafts after a change nobody knows how deep they are."""
        return None if self.bank.mean is None else 1.0 + self.bank.mean

    def _knowledge(self, found: Lengths | None) -> Knowledge:
        testing = ""
        if self._deploy is not None:
            after, intervals = self._deploy_change.words, self._deploy.intervals
            testing = f"testing the draft after {after}: {intervals:.0f} intervals so far"
        members = self.bank.members
        return Knowledge(
            self._drafted,
            self._recent,
            found,
            self.bank.score,
            "" if self._drift is None else f"{self._drift.reason}: {comparison(found)}",
            testing,
            self._learning.baseline.counts.drafts,
            1.0 - max(member.ratio for member in members) if members else None,
            self._learning.frozen,
            self.bank.judged,
        )

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
from specwatch_detectors.drift_bank import Cusum, DriftBank
from specwatch_detectors.fall import Fall
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState, Reading
from specwatch_detectors.stream_reading import Knowledge, comparison, judgement
from specwatch_detectors.stream_spread import StreamSpread
from specwatch_detectors.window import NOTHING, Window

RELEARN: Final = frozenset({Change.DEPLOY, Change.VERSION, Change.DEPTH, Change.METHOD})
_GROWTH: Final = 1.25
_RECENT_FADE: Final = 0.9
_REFIT_EVERY: Final = 180
_WHAT: Final = {"hard": "the first draft token is hardly ever accepted"}


class DriftMonitor:
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
        self._learning = Baseline() if baseline is None else baseline
        self.bank = self._new_bank(self._learning)
        self._frozen = self.bank.complete
        self._next: Baseline | None = None
        self._deploy: DeployTest | None = None
        self._deploy_change = Change.DEPLOY
        self._clear: Cusum | None = None
        self._drift_reason = ""
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
        return self._clear is not None

    @property
    def fallen(self) -> Window:
        """Counts since the evidence of a drop began; nothing while there is none."""
        return self._fall.counts

    def silence(self, now: float) -> float:
        """Seconds since the last drafts; infinite before any."""
        return math.inf if self._drafted is None else max(0.0, now - self._drafted)

    # Taking in.

    def update(self, observation: Window, now: float) -> Reading:
        """Take one interval in; one without drafts is no evidence.

        Args:
            observation: counts of the interval.
            now: its end, seconds of any clock that does not run backwards; an interval that is not newer than the
                last one is left out, because it was counted already.
        """
        if self._seen is not None and now <= self._seen:
            return self.reading(now)
        before = self._seen
        self._seen = now
        if observation.drafts <= 0.0:
            return self.reading(now)
        self._drafted = now
        self._recent = self._recent.scaled(_RECENT_FADE) + observation
        if self._clear is not None:
            self._recover(observation)
            self._test_cure(observation)
            return self.reading(now)
        self._spread.update(observation)
        score = self.bank.update(observation)
        self._fall.take(observation, now if before is None else before, quiet=self.bank.quiet)
        if self._deploy is not None:
            self._test_deploy(observation)
        elif score >= 1.0 and self._fall.counts.drafts >= self._settings.least_effective * self.bank.design:
            self._recent = self._fall.counts  # from the onset on; what came before would make the drop look small
            self._alarm(_WHAT.get(self.bank.loudest, "acceptance has dropped"))
        self._learn(observation, score)
        return self.reading(now)

    def changed(self, change: Change) -> None:
        """The engine changed: test the draft against the last good baseline; another method starts anew.

        Without positions the mean depends on the number of draft tokens, so another number starts anew too. A
        restart that comes with a deploy, in whatever order, is part of the deploy. A mere restart does not end a
        drift: it may have cured the draft, which is tested, or not.
        """
        self._recent = NOTHING
        if change is Change.RESTART and self._clear is not None and self.bank.members:
            self._clear.reset()
            self._deploy, self._deploy_change = self.bank.deploy_test(), change
            return
        self._clear = None
        self._drift_reason = ""
        self.bank.reset()
        self._fall.end()
        other = change is Change.METHOD or (change is Change.DEPTH and not self.bank.baseline.q)
        if other or not self.bank.members:
            self._start_anew()
            return
        part = change is Change.RESTART and self._deploy is not None and self._next is not None
        if not part:
            self._deploy_change = change
        self._deploy = self.bank.deploy_test()
        self._next = Baseline() if part or change in RELEARN else None
        if self._next is not None:
            self._spread.renew(self.bank.design)

    def rebase(self, now: float) -> None:
        """Kept times that lie in the future (a clock that was ahead) are moved to now."""
        self._seen, self._drafted, self._fall.since = (
            None if at is None else min(at, now) for at in (self._seen, self._drafted, self._fall.since)
        )

    def accept(self) -> None:
        """Somebody says that the present acceptance is the new normal: forget the baseline and learn again."""
        self._start_anew()

    def _start_anew(self) -> None:
        self._learning, self._frozen, self.calibrated = Baseline(), False, False
        self._spread = StreamSpread(self._settings)
        self.bank = self._new_bank(self._learning)
        self._next = self._deploy = self._clear = None
        self._drift_reason = ""
        self._fall.end()

    def _alarm(self, what: str) -> None:
        self.alarms += 1
        self._drift_reason = what
        self._clear = self.bank.clear_test(self._settings.clear_threshold)
        self._next = None if self._next is None else Baseline()  # what it has learned may be drift already

    def _recover(self, observation: Window) -> None:
        if self._clear is not None and self._clear.update(observation) >= 1.0:
            self._end_drift()

    def _end_drift(self) -> None:
        self._clear = self._deploy = None
        self._drift_reason = ""
        self.bank.reset()
        self._fall.end()

    def _test_cure(self, observation: Window) -> None:
        """After a restart during a drift: a draft as good as before ends it, a worse one is no second alarm."""
        if self._deploy is None or self._clear is None:
            return
        self._deploy.update(observation)
        if self._deploy.verdict is Verdict.AS_GOOD:
            self._end_drift()
        elif self._deploy.verdict is not Verdict.OPEN:
            self._deploy = None

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
            self._next = None
            self._alarm(f"acceptance is worse since {change.words}")

    # Learning.

    def _learn(self, observation: Window, score: float) -> None:
        if self._clear is not None or score >= self._settings.learn_below:
            return
        if self._next is not None:
            self._learn_next(observation)
            return
        if self._deploy is not None:  # what runs now is not known to be good
            return
        if self._frozen:
            if self._spread.intervals % _REFIT_EVERY == 0:  # the spread is known better by now
                self._refit(self.bank.baseline)
            return
        self._learning = self._learning.learned(observation)
        if self._learning.counts.drafts >= _GROWTH * max(1.0, self.bank.baseline.counts.drafts):
            self._refit(self._learning)

    def _refit(self, baseline: Baseline) -> None:
        """Judge by what is known by now; where the spread turns out wider, the baseline learns on."""
        self.bank = self._new_bank(baseline, self.bank.state())
        self._frozen = self.bank.complete

    def _learn_next(self, observation: Window) -> None:
        """The baseline of the new version ripens beside the old one, which judges until then."""
        if self._next is None:
            return
        self._next = self._next.learned(observation)
        if self._deploy is None and self._next.counts.drafts >= self.bank.baseline.counts.drafts / 4.0:
            ripe = self._new_bank(self._next)
            if ripe.complete:
                self._learning, self._next, self.bank = self._next, None, ripe
                self._frozen, self.calibrated = True, False

    def _new_bank(
        self, baseline: Baseline, state: Mapping[str, Any] | None = None, design: float | None = None
    ) -> DriftBank:
        if design is None:
            design = self._spread.design(baseline, self._depth)
        return DriftBank(baseline, design=design, threshold=self._threshold, depth=self._depth, state=state)

    # Saying.

    def reading(self, now: float) -> Reading:
        """What is known at a time; without fresh intervals nothing is, and a drift is not over."""
        bank = self.bank
        mean = bank.baseline.mean_accepted
        state, reason, score = judgement(self._knowledge(mean), now, self._settings)
        return Reading(
            state,
            reason,
            score,
            self.alarms,
            since=self._fall.since if state in {DriftState.DRIFTED, DriftState.WATCH} else None,
            length=self._recent.length,
            baseline_length=None if mean is None else 1.0 + mean,
            design=bank.design,
            calibrated=self.calibrated,
        )

    def _knowledge(self, mean: float | None) -> Knowledge:
        testing = ""
        if self._deploy is not None:
            after, intervals = self._deploy_change.words, self._deploy.intervals
            testing = f"testing the draft after {after}: {intervals:.0f} intervals so far"
        members = self.bank.members
        return Knowledge(
            self._drafted,
            self._recent,
            mean,
            self.bank.score,
            f"{self._drift_reason}: {comparison(self._recent, mean)}" if self._drift_reason else "",
            testing,
            self._learning.counts.drafts,
            1.0 - max(member.ratio for member in members) if members else None,
            self._frozen,
        )

    # Going on after a restart.

    def state(self) -> dict[str, Any]:
        """Everything that the monitor knows, as JSON."""
        return {
            "version": 1,
            "depth": self._depth,
            "threshold": self._threshold,
            "calibrated": self.calibrated,
            "alarms": self.alarms,
            "spread": self._spread.state(),
            "learning": self._learning.as_json(),
            "frozen": self._frozen,
            "baseline": self.bank.baseline.as_json(),
            "bank": self.bank.state(),
            "design": self.bank.design,
            "next": None if self._next is None else self._next.as_json(),
            "deploy": None if self._deploy is None else self._deploy.state(),
            "deploy_change": self._deploy_change,
            "clear": None if self._clear is None else self._clear.state(),
            "drift_reason": self._drift_reason,
            "onset": self._fall.since,
            "fallen": Baseline(self._fall.counts).as_json(),
            "recent": Baseline(self._recent).as_json(),
            "seen": self._seen,
            "drafted": self._drafted,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave.

        Raises:
            ValueError: it is not the state of a monitor.
        """
        try:
            self._read(state)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the state of a drift monitor: {error!r}") from error

    def _read(self, state: Mapping[str, Any]) -> None:
        if state["version"] != 1:
            raise ValueError(f"the state is of version {state['version']}, this specwatch reads version 1")
        self._depth, self._threshold = int(state["depth"]), float(state["threshold"])
        self.calibrated, self.alarms = bool(state["calibrated"]), int(state["alarms"])
        self._spread = StreamSpread(self._settings, state=state["spread"])
        self._learning, self._frozen = Baseline.from_json(state["learning"]), bool(state["frozen"])
        self.bank = self._new_bank(Baseline.from_json(state["baseline"]), state["bank"], float(state["design"]))
        self._next = None if state["next"] is None else Baseline.from_json(state["next"])
        self._deploy_change = Change(state["deploy_change"])
        self._deploy = None if state["deploy"] is None else self.bank.deploy_test(state["deploy"])
        self._drift_reason = str(state["drift_reason"])
        clear = state["clear"]
        self._clear = None if clear is None else self.bank.clear_test(self._settings.clear_threshold, clear)
        self._fall = Fall(state["onset"], Baseline.from_json(state["fallen"]).counts)
        self._recent = Baseline.from_json(state["recent"]).counts
        self._seen, self._drafted = state["seen"], state["drafted"]

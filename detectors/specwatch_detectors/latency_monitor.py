"""Per-token latency watched at fixed batch size: learns what tokens take, notices when they take longer, says so.

The life is that of `drift_monitor.py`: learning, watching, slower, watching again once the evidence says so.
Latency is judged beside acceptance: tokens that take longer while acceptance is as before are not the draft's
misalignment, and a fallback for misalignment would not help.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from specwatch_detectors.latency_cusum import LatencyCusum, TimeBaseline, Times
from specwatch_detectors.latency_reading import LatencyReading, Observed, judgement
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState, Reading
from specwatch_detectors.time_learning import TimeLearning

SLOWER: Final = (1.1, 1.3)
FASTER: Final = 1.0 / 1.1
WARM_UP_S: Final = 120.0
"""After a start an engine compiles and fills its caches; what it takes meanwhile is not judged."""

MAX_BUCKETS: Final = 16
_FADE: Final = 0.9
_REFIT_EVERY: Final = 180


class LatencyMonitor:
    """Watches the per-token latency of one stream.

    Feed it `specwatch_request_inter_token_seconds` summed by `batch`, or the engine's own per-token histogram
    under one bucket name where the batch is not known (then more load looks like drift).

    Args:
        settings: budget and limits; the budget's `statistics` of 3 are 1.1, 1.3 and faster.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: the state is not one of a latency monitor.
    """

    def __init__(
        self,
        settings: MonitorSettings = MonitorSettings(),  # noqa: B008 - immutable
        *,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        self._settings = settings
        self.alarms = 0
        self._start_anew()
        self._seen: float | None = None
        self._sampled: float | None = None
        self._settled = -math.inf
        if state is not None:
            self.restore(state)

    def _start_anew(self) -> None:
        self._learning: dict[str, TimeLearning] = {}
        self._baselines: dict[str, TimeBaseline] = {}
        self._tests: dict[float, LatencyCusum] = {}
        self._clear: LatencyCusum | None = None
        self._onset: float | None = None
        self._recent: dict[str, Times] = {}
        self._intervals = 0

    @property
    def drifted(self) -> bool:
        """Tokens took longer, and nothing since says that it is over."""
        return self._clear is not None

    @property
    def baselines(self) -> Mapping[str, TimeBaseline]:
        """What is judged against, by batch bucket."""
        return dict(self._baselines)

    def update(
        self, observation: Mapping[str, Times], now: float, acceptance: Reading | None = None
    ) -> LatencyReading:
        """Take one interval in; one without samples is no evidence.

        Args:
            observation: by batch bucket, as the label `batch` names them.
            now: end of the interval, seconds; one that is not newer than the last is left out, as counted already.
            acceptance: what is known of the draft of the same stream; only for the words.
        """
        if self._seen is not None and now <= self._seen:
            return self.reading(now, acceptance)
        before, self._seen = self._seen, now
        found = {bucket: times for bucket, times in observation.items() if times.mean is not None}
        if not found or now < self._settled:
            return self.reading(now, acceptance)
        self._sampled = now
        self._intervals += 1
        self._remember(found)
        if self._clear is not None:
            if self._clear.update(found) >= 1.0:
                self._clear = None
                self._forget()
            return self.reading(now, acceptance)
        for test in self._tests.values():
            test.update(found)
        self._mark_onset(before if before is not None else now)
        if self._score >= 1.0:
            self.alarms += 1
            self._clear = self._clear_test()
        elif max(self._score, self._faster) < self._settings.learn_below:
            self._learn(found)
        return self.reading(now, acceptance)

    def changed(self, change: Change, now: float) -> None:
        """The engine changed: what it takes while it warms up is not judged; another method or K starts anew.

        A latency that had risen stays risen until the evidence says otherwise.
        """
        self._settled = now + WARM_UP_S
        if change in {Change.METHOD, Change.DEPTH}:
            self._start_anew()
            return
        self._forget()
        if self._clear is not None:
            self._clear.reset()

    def accept(self) -> None:
        """Somebody says that the present latency is the new normal: forget the baselines and learn again."""
        self._start_anew()

    def _forget(self) -> None:
        for test in self._tests.values():
            test.reset()
        self._recent = {}
        self._onset = None if self._clear is None else self._onset

    def _remember(self, found: Mapping[str, Times]) -> None:
        for bucket in {*self._recent, *found}:
            old, new = self._recent.get(bucket, Times(0.0, 0.0)), found.get(bucket, Times(0.0, 0.0))
            if bucket in self._recent or len(self._recent) < MAX_BUCKETS:
                self._recent[bucket] = Times(_FADE * old.seconds + new.seconds, _FADE * old.samples + new.samples)

    def _mark_onset(self, began: float) -> None:
        if all(test.evidence == 0.0 for ratio, test in self._tests.items() if ratio > 1.0):
            self._onset = None
        elif self._onset is None:
            self._onset = began

    @property
    def _score(self) -> float:
        return max((self._tests[r].evidence / self._tests[r].threshold for r in SLOWER if self._tests), default=0.0)

    @property
    def _faster(self) -> float:
        return self._tests[FASTER].evidence / self._tests[FASTER].threshold if self._tests else 0.0

    def _learn(self, found: Mapping[str, Times]) -> None:
        for bucket, times in found.items():
            own = self._learning.get(bucket)
            if own is None:
                if len(self._learning) >= MAX_BUCKETS:
                    continue
                own = self._learning[bucket] = TimeLearning()
            own.update(times, mean_too=bucket not in self._baselines)
        ready = {bucket for bucket, own in self._learning.items() if own.ripe(self._settings.safety)}
        if ready - self._baselines.keys() or self._intervals % _REFIT_EVERY == 0:
            self._refit(ready)

    def _refit(self, ready: set[str]) -> None:
        names = sorted(ready | self._baselines.keys())
        self._baselines = {name: self._learning[name].baseline(self._settings.safety) for name in names}
        self._tests = self._new_tests({ratio: test.state() for ratio, test in self._tests.items()})

    def _new_tests(self, kept: Mapping[float, Mapping[str, float]]) -> dict[float, LatencyCusum]:
        threshold = self._settings.budget.threshold
        return {
            ratio: LatencyCusum(self._baselines, ratio=ratio, threshold=threshold, state=kept.get(ratio))
            for ratio in (*SLOWER, FASTER)
            if self._baselines
        }

    def _clear_test(self, state: Mapping[str, float] | None = None) -> LatencyCusum:
        """From the mildest change back to the baseline."""
        least = min(SLOWER)
        slow = {name: replace(base, mean=least * base.mean) for name, base in self._baselines.items()}
        threshold = self._settings.clear_threshold
        return LatencyCusum(slow, ratio=1.0 / least, threshold=threshold, state=state)

    def reading(self, now: float, acceptance: Reading | None = None) -> LatencyReading:
        """What is known at a time; without samples nothing is, and slowness is not over."""
        known = Observed(
            self._sampled, self._settled, self._recent, self._baselines, self._score, self._faster, self.drifted
        )
        found = judgement(known, now, self._settings, acceptance)
        shown = found.state in {DriftState.DRIFTED, DriftState.WATCH}
        return replace(found, alarms=self.alarms, since=self._onset if shown else None)

    def state(self) -> dict[str, Any]:
        """Everything that the monitor knows, as JSON."""
        return {
            "version": 1,
            "alarms": self.alarms,
            "learning": {bucket: own.state() for bucket, own in self._learning.items()},
            "baselines": {bucket: [base.mean, base.variance] for bucket, base in self._baselines.items()},
            "tests": {str(ratio): test.state() for ratio, test in self._tests.items()},
            "clear": None if self._clear is None else self._clear.state(),
            "onset": self._onset,
            "recent": {bucket: [times.seconds, times.samples] for bucket, times in self._recent.items()},
            "intervals": self._intervals,
            "seen": self._seen,
            "sampled": self._sampled,
            "settled": None if math.isinf(self._settled) else self._settled,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave.

        Raises:
            ValueError: it is not the state of a latency monitor.
        """
        try:
            self._read(state)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the state of a latency monitor: {error!r}") from error

    def _read(self, state: Mapping[str, Any]) -> None:
        if state["version"] != 1:
            raise ValueError(f"the state is of version {state['version']}, this specwatch reads version 1")
        self.alarms, self._intervals = int(state["alarms"]), int(state["intervals"])
        self._learning = {bucket: TimeLearning(kept) for bucket, kept in state["learning"].items()}
        self._baselines = {
            bucket: TimeBaseline(float(mean), float(variance))
            for bucket, (mean, variance) in state["baselines"].items()
        }
        self._tests = self._new_tests({float(ratio): kept for ratio, kept in state["tests"].items()})
        self._clear = None if state["clear"] is None else self._clear_test(state["clear"])
        self._recent = {
            bucket: Times(float(seconds), float(samples)) for bucket, (seconds, samples) in state["recent"].items()
        }
        self._onset, self._seen, self._sampled = state["onset"], state["seen"], state["sampled"]
        self._settled = -math.inf if state["settled"] is None else float(state["settled"])

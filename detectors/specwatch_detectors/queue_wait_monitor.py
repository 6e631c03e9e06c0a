"""Queue wait watched: learns which edge few requests pass, notices when more do, and says so.

The life is that of `drift_monitor.py`. Longer waits do not say why: more load, fewer replicas, or an engine that
has become slow; the words tell only what users feel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.design_effect import BatchMeans, design_effect
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.queue_wait_cusum import LEAST_SHARE, QueueWaitCusum, Waits, tail_edge, waits_beyond
from specwatch_detectors.reading import DriftState, Reading
from specwatch_detectors.window import Window

RATIOS: Final = (2.0, 5.0)
LEAST_INTERVALS: Final = 60
LEAST_REQUESTS: Final = 2000.0
"""A share of 5 % of them is known within a tenth, request by request."""

_FADE: Final = 0.9
_MAX_EDGES: Final = 64


class QueueWaitMonitor:
    """Watches the queue wait of one stream.

    Feed it the increases of `specwatch_request_queue_wait_seconds` (edges from 1 ms), or of the engine's own.
    Its first 60 intervals with requests and 2,000 requests choose the edge and give the share beyond it; the
    spread from interval to interval is measured on.

    Args:
        settings: budget and limits.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: the state is not one of a queue-wait monitor.
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
        self._waited: float | None = None
        if state is not None:
            self.restore(state)

    def _start_anew(self) -> None:
        self._learning: dict[float, float] = {}
        self._intervals = 0
        self._edge: float | None = None
        self._share = 0.0
        self._spread = BatchMeans()
        self._design = self._measured_design()
        self._tests: dict[float, QueueWaitCusum] = {}
        self._recent = Waits(0.0, 0.0)
        self._calm = 0.0
        self._onset: float | None = None
        self.drifted = False

    def accept(self) -> None:
        """Somebody says that the present waits are the new normal: learn again."""
        self._start_anew()

    def update(self, buckets: Mapping[float, float], now: float) -> Reading:
        """Take one interval in; one without requests is no evidence.

        Args:
            buckets: increases of the interval: upper edge in seconds to cumulative count, +Inf among them.
            now: end of the interval, seconds; one that is not newer than the last is left out, as counted already.
        """
        if self._seen is not None and now <= self._seen:
            return self.reading(now)
        before, self._seen = self._seen, now
        if not buckets.get(math.inf, 0.0) > 0.0:
            return self.reading(now)
        self._waited = now
        if self._edge is None:
            self._learn(buckets)
            return self.reading(now)
        waits = waits_beyond(buckets, self._edge)
        if waits.requests > 0.0:
            self._judge(waits, before if before is not None else now)
        return self.reading(now)

    def _learn(self, buckets: Mapping[float, float]) -> None:
        self._intervals += 1
        for edge, count in buckets.items():
            if edge in self._learning or len(self._learning) < _MAX_EDGES:
                self._learning[edge] = self._learning.get(edge, 0.0) + count
        if self._intervals < LEAST_INTERVALS or self._learning.get(math.inf, 0.0) < LEAST_REQUESTS:
            return
        found = tail_edge(self._learning)
        if found is not None:
            self._edge, self._share = found
            self._tests = self._new_tests({})

    def _judge(self, waits: Waits, began: float) -> None:
        self._recent = Waits(
            _FADE * self._recent.longer + waits.longer, _FADE * self._recent.requests + waits.requests
        )
        if self.drifted:
            self._recover(waits)
            return
        self._spread.update(Window(waits.requests, accepted_tokens=min(waits.longer, waits.requests)))
        score = max(test.update(waits) for test in self._tests.values())
        if all(test.evidence == 0.0 for test in self._tests.values()):
            self._onset = None
        elif self._onset is None:
            self._onset = began
        if score >= 1.0:
            self.alarms += 1
            self.drifted, self._calm = True, 0.0
        elif score == 0.0 and self._spread.intervals % LEAST_INTERVALS == 0:  # the spread is known better by now
            self._design = self._measured_design()
            self._tests = self._new_tests({})

    def _recover(self, waits: Waits) -> None:
        """Evidence for the baseline against the mildest change, from the moment on at which waits shorten."""
        mildest = self._tests[min(RATIOS)]
        self._calm = max(0.0, self._calm - mildest.increment(waits))
        if self._calm >= self._settings.clear_threshold:
            self.drifted, self._onset = False, None
            for test in self._tests.values():
                test.reset()

    def _measured_design(self) -> float:
        share = max(LEAST_SHARE, self._share)
        seen = self._spread.estimate(share * (1.0 - share))
        return design_effect([seen], self._spread.intervals, safety=self._settings.safety)

    def _new_tests(self, kept: Mapping[str, Mapping[str, float]]) -> dict[float, QueueWaitCusum]:
        threshold = self._settings.budget.threshold
        return {
            ratio: QueueWaitCusum(
                self._share, ratio=ratio, design=self._design, threshold=threshold, state=kept.get(str(ratio))
            )
            for ratio in RATIOS
        }

    def reading(self, now: float) -> Reading:
        """What is known at a time; without requests nothing is, and long waits are not over."""
        state, reason, score = self._judgement(now)
        shown = state in {DriftState.DRIFTED, DriftState.WATCH}
        return Reading(state, reason, score, self.alarms, since=self._onset if shown else None, design=self._design)

    def _judgement(self, now: float) -> tuple[DriftState, str, float | None]:
        if self._waited is None:
            return DriftState.CANNOT_TELL, "no requests yet", None
        if now - self._waited > self._settings.stale_after_s:
            before = "; before that more requests than usual waited long" if self.drifted else ""
            return DriftState.CANNOT_TELL, f"no requests for {now - self._waited:.0f} s{before}", None
        if self._edge is None:
            return DriftState.CANNOT_TELL, self._learning_words(), None
        score = max(test.score for test in self._tests.values())
        if self.drifted:
            return DriftState.DRIFTED, f"more requests wait long: {self._comparison()}", max(1.0, score)
        if score >= self._settings.watch_at:
            return DriftState.WATCH, f"evidence for longer waits is growing: {self._comparison()}", score
        return DriftState.OK, f"waits as before: {self._comparison()}", score

    def _learning_words(self) -> str:
        requests = self._learning.get(math.inf, 0.0)
        if self._intervals >= LEAST_INTERVALS and requests >= LEAST_REQUESTS:
            return "too many requests wait longer than the histogram's last edge: nothing to compare with"
        return f"learning how long requests wait: {requests:,.0f} so far"

    def _comparison(self) -> str:
        now = self._recent.longer / self._recent.requests if self._recent.requests > 0.0 else self._share
        return f"{now:.1%} waited more than {self._edge:g} s, baseline {self._share:.1%}"

    def state(self) -> dict[str, Any]:
        """Everything that the monitor knows, as JSON."""
        return {
            "version": 1,
            "alarms": self.alarms,
            "learning": [[None if math.isinf(edge) else edge, count] for edge, count in self._learning.items()],
            "intervals": self._intervals,
            "edge": self._edge,
            "share": self._share,
            "spread": self._spread.state(),
            "design": self._design,
            "tests": {str(ratio): test.state() for ratio, test in self._tests.items()},
            "recent": [self._recent.longer, self._recent.requests],
            "calm": self._calm,
            "drifted": self.drifted,
            "onset": self._onset,
            "seen": self._seen,
            "waited": self._waited,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave.

        Raises:
            ValueError: it is not the state of a queue-wait monitor.
        """
        try:
            self._read(state)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the state of a queue-wait monitor: {error!r}") from error

    def _read(self, state: Mapping[str, Any]) -> None:
        if state["version"] != 1:
            raise ValueError(f"the state is of version {state['version']}, this specwatch reads version 1")
        self.alarms, self._intervals = int(state["alarms"]), int(state["intervals"])
        self._learning = {math.inf if edge is None else float(edge): float(n) for edge, n in state["learning"]}
        self._edge, self._share = state["edge"], float(state["share"])
        self._spread, self._design = BatchMeans(state["spread"]), float(state["design"])
        self._tests = {} if self._edge is None else self._new_tests(state["tests"])
        longer, requests = state["recent"]
        self._recent = Waits(float(longer), float(requests))
        self._calm, self.drifted, self._onset = float(state["calm"]), bool(state["drifted"]), state["onset"]
        self._seen, self._waited = state["seen"], state["waited"]

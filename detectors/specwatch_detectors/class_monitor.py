"""The classes of one model's traffic: each watched by itself, and all together without the effect of their mix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.detector import State
from specwatch_detectors.drift_bank import FINE, DriftBank
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, Reading
from specwatch_detectors.standardised_cusum import StandardisedCusum
from specwatch_detectors.window import Window
from specwatch_exporters.classes.class_name import OTHER

MAX_CLASSES: Final = 12
FORGET_S: Final = 7 * 86_400.0
_STAYS: Final = 2.0
"""A class that judges does so until its baseline is this many times less sure than a class needs to join."""
_FADE: Final = 0.98
"""Weight of the drafts seen so far: the last 50 intervals count, longer than counts of classes lag behind."""


class ClassMonitor:
    """Watches every class and the class-standardised statistic.

    Half of the budget of false pages goes to the standardised statistic, half to the classes.

    Args:
        settings: budget and limits; the budget is for the whole model.
        new_monitor: makes the monitor of a class by name, with the given settings.
        state: what `state` of a predecessor gave.
    """

    def __init__(
        self,
        settings: MonitorSettings,
        new_monitor: Callable[[str, MonitorSettings], DriftMonitor],
        state: Mapping[str, Any] | None = None,
    ) -> None:
        budget = settings.budget
        own = replace(budget, statistics=2 * budget.statistics * MAX_CLASSES)
        self._settings = replace(settings, budget=own)
        self._threshold = replace(budget, statistics=2 * len(FINE)).threshold
        self._clear_threshold = settings.clear_threshold
        self._new_monitor = new_monitor
        self.monitors: dict[str, DriftMonitor] = {}
        self._joined: set[str] = set()
        self._judging: dict[str, DriftBank] = {}
        self._tests: dict[str, StandardisedCusum] = {}
        self._clear: StandardisedCusum | None = None
        self._drafts: dict[str, float] = {}
        self._total = 0.0
        self.score: float | None = None
        self.drifted = False
        self.alarms = 0
        self.since: float | None = None
        """When the evidence of all classes together began, or that of the drift that it became."""
        self._seen: float | None = None
        if state is not None:
            self._restore(state)

    @property
    def coverage(self) -> float:
        """Share of the last drafts that belong to a class with a baseline, 0 to 1, tests of a deploy included."""
        known = sum(self._drafts.get(name, 0.0) for name in self._joined)
        return min(1.0, known / self._total) if self._total > 0.0 else 0.0

    @property
    def as_before(self) -> float:
        """Share of the last drafts in classes that judge and find nothing, 0 to 1; 0 while any drift lasts."""
        if self.drifted or self._total <= 0.0 or any(monitor.drifted for monitor in self.monitors.values()):
            return 0.0
        found = sum(self._drafts.get(name, 0.0) for name in self._joined if not self.monitors[name].testing_deploy)
        return min(1.0, found / self._total)

    def readings(self, now: float) -> dict[str, Reading]:
        """The classes' readings at a time without a new interval."""
        return {name: monitor.reading(now) for name, monitor in sorted(self.monitors.items())}

    def drifted_classes(self, now: float) -> list[str]:
        """Classes with a drift that nothing has ended; one without traffic for long says nothing of now."""
        patience = self._settings.class_patience_s
        return sorted(
            name for name, monitor in self.monitors.items() if monitor.drifted and monitor.silence(now) <= patience
        )

    def over(self, names: Iterable[str]) -> float | None:
        """Evidence that the drifts of these classes, and of all together, are over: the least of it, 0 to 1.

        Returns:
            None where none of them has drifted.
        """
        found = [self.monitors[name].over for name in names]
        found.append(None if self._clear is None else min(1.0, self._clear.evidence / self._clear.threshold))
        return min((one for one in found if one is not None), default=None)

    def rebase(self, now: float) -> None:
        """Kept times that lie in the future are moved to now."""
        for monitor in self.monitors.values():
            monitor.rebase(now)
        self.since, self._seen = (None if at is None else min(at, now) for at in (self.since, self._seen))

    def update(
        self, observations: Mapping[str, Window], now: float, drafts: float | None = None
    ) -> dict[str, Reading]:
        """Take one interval in; returns the readings of all classes.

        Args:
            observations: a window per class with traffic.
            now: end of the interval, seconds.
            drafts: of all traffic, with a class or without; those of the classes if None.
        """
        began = now if self._seen is None else self._seen
        fresh = {}
        for name, window in sorted(observations.items()):
            if name not in self.monitors:
                self._make_room(now)
                if name == OTHER or len(self.monitors) >= MAX_CLASSES:
                    continue
                self.monitors[name] = self._new_monitor(name, self._settings)
            fresh[name] = self.monitors[name].update(window, now, began)
        self._refresh()
        self._cover(observations, drafts)
        self._test(observations, began)
        self._seen = now
        return {name: fresh.get(name) or monitor.reading(now) for name, monitor in sorted(self.monitors.items())}

    def _make_room(self, now: float) -> None:
        """A class without traffic for a week gives its place to a new one."""
        if len(self.monitors) < MAX_CLASSES:
            return
        oldest = max(sorted(self.monitors), key=lambda name: self.monitors[name].silence(now))
        if self.monitors[oldest].silence(now) > FORGET_S:
            del self.monitors[oldest]
            self._drafts.pop(oldest, None)

    def _cover(self, observations: Mapping[str, Window], drafts: float | None) -> None:
        found = {name: observations[name].drafts for name in self.monitors if name in observations}
        for name in self.monitors:
            self._drafts[name] = _FADE * self._drafts.get(name, 0.0) + found.get(name, 0.0)
        whole = sum(window.drafts for window in observations.values()) if drafts is None else drafts
        self._total = _FADE * self._total + whole

    def _test(self, observations: Mapping[str, Window], began: float) -> None:
        if self._clear is not None:
            if self._clear.update(observations) >= 1.0:
                self._clear, self.drifted = None, False
                self._reset()
            return
        self.score = max((test.update(observations) for test in self._tests.values()), default=None)
        self.since = (began if self.since is None else self.since) if self.score else None
        if self.score is not None and self.score >= 1.0:
            self.drifted, self.alarms = True, self.alarms + 1
            self._clear = self._new_clear()

    def changed(self, change: Change) -> None:
        """The engine changed: every class tests its draft again, the evidence so far is forgotten."""
        for monitor in self.monitors.values():
            monitor.changed(change)
        if change is Change.DEPTH:  # the positions that are judged go on as they were
            return
        if change is not Change.METHOD and self._clear is not None:  # a change alone ends no drift
            self._clear.reset()
            return
        self._clear, self.drifted = None, False
        self._reset()

    def accept(self) -> None:
        """Somebody says that the present acceptance is the new normal: every class learns again."""
        for monitor in self.monitors.values():
            monitor.accept()
        self._clear, self.drifted = None, False
        self._joined = set()
        self._reset()

    def _reset(self) -> None:
        for test in self._tests.values():
            test.reset()
        self.score = self.since = None

    def _refresh(self) -> None:
        """Follow the classes' baselines: a class joins once its own fine members judge."""
        self._joined = {name for name, monitor in self.monitors.items() if self._knows(name, monitor.bank)}
        banks = {
            name: self.monitors[name].bank
            for name in sorted(self._joined)
            if self.monitors[name].bank.baseline.q  # a class that tests a deploy is judged beside the test
        }
        if banks.keys() == self._judging.keys() and all(banks[name] is self._judging[name] for name in banks):
            return
        self._judging = banks
        kept = {name: test.state() for name, test in self._tests.items()}
        self._tests = {
            f"{member.ratio:g}": StandardisedCusum(
                self._cusums(member.ratio), threshold=self._threshold, state=kept.get(f"{member.ratio:g}")
            )
            for member in FINE
            if banks
        }
        if self._clear is not None:
            self._clear = self._new_clear(self._clear.state())

    def _knows(self, name: str, bank: DriftBank) -> bool:
        """Whether a class may join, or stay: a spread that turns out somewhat wider sends no class away again."""
        if name not in self._joined:
            return bank.complete
        return bank.error <= _STAYS * min(member.needs for member in FINE)

    def _cusums(self, ratio: float) -> dict[str, ChainCusum]:
        return {
            name: ChainCusum(bank.baseline.q, ratio=ratio, design=bank.design, threshold=self._threshold)
            for name, bank in self._judging.items()
        }

    def _new_clear(self, state: State | None = None) -> StandardisedCusum:
        """The test that ends a drift: from the mildest change back to the baselines."""
        ratio = max(member.ratio for member in FINE)
        threshold = self._clear_threshold
        tests = {
            name: ChainCusum(
                [ratio * value for value in bank.baseline.q],
                ratio=1.0 / ratio,
                design=bank.design,
                threshold=threshold,
            )
            for name, bank in self._judging.items()
        }
        return StandardisedCusum(tests, threshold=threshold, state=state)

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "monitors": {name: monitor.state() for name, monitor in self.monitors.items()},
            "joined": sorted(self._joined),
            "tests": {name: test.state() for name, test in self._tests.items()},
            "clear": None if self._clear is None else self._clear.state(),
            "drafts": dict(self._drafts),
            "total": self._total,
            "score": self.score,
            "drifted": self.drifted,
            "alarms": self.alarms,
            "since": self.since,
            "seen": self._seen,
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        for name, kept in state["monitors"].items():
            self.monitors[name] = self._new_monitor(name, self._settings)
            self.monitors[name].restore(kept)
        self._joined = set(state["joined"])
        self._refresh()
        for name, kept in state["tests"].items():
            if name in self._tests:
                self._tests[name].evidence = float(kept["evidence"])
        if state["clear"] is not None:
            self._clear = self._new_clear(state["clear"])
        self._drafts = {name: float(value) for name, value in state["drafts"].items()}
        self._total = float(state["total"])
        self.score, self.since, self._seen = state["score"], state["since"], state["seen"]
        self.drifted, self.alarms = bool(state["drifted"]), int(state["alarms"])

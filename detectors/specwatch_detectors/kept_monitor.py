"""What a drift monitor keeps over a restart, and how it goes on from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.deploy_test import DeployTest
from specwatch_detectors.drift_bank import DriftBank
from specwatch_detectors.fall import Fall
from specwatch_detectors.lasting_drift import LastingDrift
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change
from specwatch_detectors.stream_learning import StreamLearning
from specwatch_detectors.stream_spread import StreamSpread
from specwatch_detectors.window import Window


class KeptMonitor(ABC):
    """The part of a drift monitor that is its memory; all else is in `DriftMonitor`."""

    bank: DriftBank
    alarms: int
    calibrated: bool
    _settings: MonitorSettings
    _depth: int
    _threshold: float
    _spread: StreamSpread
    _learning: StreamLearning
    _deploy: DeployTest | None
    _deploy_change: Change
    _drift: LastingDrift | None
    _fall: Fall
    _recent: Window
    _seen: float | None
    _drafted: float | None

    @abstractmethod
    def _new_bank(
        self,
        baseline: Baseline,
        state: Mapping[str, Any] | None = None,
        design: float | None = None,
        *,
        judged: int = 0,
    ) -> DriftBank:
        """A bank on a baseline."""

    @abstractmethod
    def _just_before(self) -> DriftBank:
        """A bank on what acceptance is like in the drift."""

    def state(self) -> dict[str, Any]:
        """Everything that the monitor knows, as JSON."""
        return {
            "version": 1,
            "depth": self._depth,
            "threshold": self._threshold,
            "calibrated": self.calibrated,
            "alarms": self.alarms,
            "spread": self._spread.state(),
            **self._learning.state(),
            "baseline": self.bank.baseline.as_json(),
            "bank": self.bank.state(),
            "design": self.bank.design,
            "deploy": None if self._deploy is None else self._deploy.state(),
            "deploy_change": self._deploy_change,
            "drift": None if self._drift is None else self._drift.state(),
            "fall": self._fall.state(),
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
        self._learning = StreamLearning.restored(state)
        baseline = Baseline.from_json(state["baseline"])
        self.bank = self._new_bank(baseline, state["bank"], float(state["design"]), judged=len(baseline.q))
        self._deploy_change = Change(state["deploy_change"])
        self._deploy = None if state["deploy"] is None else self.bank.deploy_test(state["deploy"])
        self._fall = Fall.restored(state["fall"])
        drift, threshold = state["drift"], self._settings.clear_threshold
        self._drift = None
        if drift is not None:
            self._drift = LastingDrift.restored(drift, self.bank, threshold, self._just_before())
        self._recent = Baseline.from_json(state["recent"]).counts
        self._seen, self._drafted = state["seen"], state["drafted"]

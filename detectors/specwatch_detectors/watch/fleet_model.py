"""One model of a fleet: which counts are its total, its rollouts, its monitor."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from specwatch_detectors.kept_part import kept_time
from specwatch_detectors.model_monitor import Calibration, ModelMonitor, ModelReading
from specwatch_detectors.profile_use import made_at, replaces
from specwatch_detectors.watch.rollout import Rollout
from specwatch_detectors.watch.tick_counts import NO_CLASS, ModelCounts
from specwatch_detectors.window import NOTHING, Window
from specwatch_detectors.windows_of_counts import judgeable

LOG = logging.getLogger("specwatch.watch")
SWITCH_S: Final = 150.0
"""Silence after which other counts of the same traffic are taken for the total."""

NewMonitor = Callable[[str, int, Mapping[str, Any] | None], ModelMonitor]
"""Makes a monitor from the model's name, its draft tokens per step, and the state of a predecessor."""

Calibrations = Callable[[str], Mapping[str, Calibration]]
"""What a profile knows of a model, by traffic class; it is what `NewMonitor` begins from."""


def no_profile(_model: str) -> Mapping[str, Calibration]:
    """Nothing: every baseline is learned."""
    return {}


class FleetModel:
    """Judges one model by the counts of all of its pods.

    The total comes from engines' counters of one definition: a plugin and a sidecar beside one engine count the
    same drafts. Where there are none that can be judged, it comes from per-request counters.

    Args:
        name: of the model.
        new_monitor: makes its monitor.
        state: what `state` of a predecessor gave; a baseline older than the profile is not gone on from.
        calibrations: of the profile.
    """

    def __init__(
        self,
        name: str,
        new_monitor: NewMonitor,
        state: Mapping[str, Any] | None = None,
        calibrations: Calibrations = no_profile,
    ) -> None:
        self.name = name
        self._new_monitor = new_monitor
        self._calibrations = calibrations
        self._made = 0.0
        """When the baseline was given: by a profile, or by somebody who accepted what was; epoch seconds."""
        self.definition: str | None = None
        self._counted = 0.0
        self.seen = 0.0
        self.monitor: ModelMonitor | None = None
        self.rollout = Rollout()
        self._refused: set[str] = set()
        if state is not None:
            self._restore(state)

    def take(self, counts: ModelCounts, now: float) -> None:
        """Take the counts of one tick in."""
        self.seen = now
        total = self._total(counts, now)
        if total is None:
            return
        self._judge(total, {name: own for name, own in counts.classes.items() if name != NO_CLASS}, now)

    def saw(self, counts: ModelCounts, at: float, *, newcomer: bool) -> None:
        """Note which pods gave the counts that make the total."""
        newcomer = newcomer and bool(self.rollout.pods)
        pods = counts.engine_pods.get(self.definition or "", set()) or counts.class_pods
        for pod in pods or set().union(*counts.engine_pods.values()):
            self.rollout.saw(pod, at, newcomer=newcomer)

    def _judge(self, total: Window, classes: Mapping[str, Window], now: float) -> None:
        if self.monitor is None:
            depth = self.rollout.depth or max(1, len(total.accepted))
            self.monitor = self._begin(depth)
        self.monitor.update(total, now, classes)

    def _begin(self, depth: int) -> ModelMonitor:
        """A monitor without a past."""
        self._made = max(self._made, made_at(self._calibrations(self.name)))
        return self._new_monitor(self.name, depth, None)

    def accept(self) -> None:
        """Somebody says that the present acceptance is the new normal: learn it."""
        if self.monitor is None:
            return
        self.monitor.accept()
        self._made = max(self._made, self.seen)
        LOG.info("%s: the present acceptance is the new normal, its baselines are learned again", self.name)

    def follow(self, now: float) -> None:
        """Let the monitor know of a rollout."""
        change = self.rollout.step(now)
        if change is not None and self.monitor is not None:
            self.monitor.changed(change)
            LOG.info("%s: %s over the fleet; the draft is tested anew", self.name, change.value)

    def _total(self, counts: ModelCounts, now: float) -> Window | None:
        """The counts that stand for all traffic; None if it cannot be said yet which."""
        judged = {name: own for name, own in counts.engine.items() if judgeable(name)}
        self._refuse(counts)
        if self.definition in judged:
            self._counted = now
            return judged[self.definition or ""]
        quiet = now - self._counted > SWITCH_S
        if judged and (self.definition is None or quiet):
            self.definition = max(judged, key=lambda name: (judged[name].drafts, name))
            self._counted = now
            LOG.info("%s: drafts are those counted as %s", self.name, self.definition)
            return judged[self.definition]
        if not counts.classes:
            return None
        return counts.requests if quiet else NOTHING

    def _refuse(self, counts: ModelCounts) -> None:
        for name in counts.engine:
            if not judgeable(name) and name not in self._refused:
                self._refused.add(name)
                LOG.warning("%s: counts of the definition %r cannot be tested and are left out", self.name, name)

    def reading(self, now: float) -> ModelReading | None:
        """What is known at a time; None before there were counts that can be judged."""
        return None if self.monitor is None else self.monitor.reading(now)

    # Keeping.

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "definition": self.definition,
            "counted": self._counted,
            "seen": self.seen,
            "rollout": self.rollout.state(),
            "made": self._made,
            "monitor": None if self.monitor is None else self.monitor.state(),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Go on from the state.

        Raises:
            ValueError: it is not one of a model.
        """
        try:
            self.definition = state["definition"]
            self._counted, self.seen = float(state["counted"]), float(state["seen"])
            self.rollout = Rollout(state["rollout"])
            self._made = kept_time(state.get("made"))
            kept, depth = state["monitor"], self.rollout.depth or 1
            if kept is None:
                return
            if replaces(self.name, self._calibrations(self.name), self._made):
                self.monitor = self._begin(depth)
            else:
                self.monitor = self._new_monitor(self.name, depth, kept)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the state of a model: {error!r}") from error

"""One simulated pod: a week that it is calibrated on, and the days after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench_detect.demand import DAY, SCRAPE_S, Habits, Integers
from bench_detect.simulator import Counts, Day, simulate_day
from bench_detect.traffic_class import DEPTH, TrafficClass
from specwatch_detectors.calibrate import stream_threshold
from specwatch_detectors.drift_bank import DriftBank
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.replaying import ALL
from specwatch_detectors.settled_design import settle
from specwatch_detectors.stream_fit import StreamFit, fit
from specwatch_detectors.window import NOTHING, Window

_CHANGED = 1_000_000
"""Days with this much added to their number are those that a trial changes: fresh ones."""


@dataclass(frozen=True)
class Pod:
    """A pod by its seed.

    Attributes:
        seed: numbers that identify it.
        classes: its traffic.
        slots: most requests at once.
        habits: how uneven its demand is.
    """

    seed: tuple[int, ...]
    classes: tuple[TrafficClass, ...]
    slots: int
    habits: Habits = Habits()  # noqa: RUF009 - immutable

    def day(self, number: int, ratio: float = 1.0) -> Day:
        """A day of it; the same requests whatever the ratio."""
        return simulate_day(
            (*self.seed, self.slots, number), self.classes, self.slots, ratio=ratio, habits=self.habits
        )

    def trial_day(self, number: int, ratio: float = 1.0) -> Day:
        """A day that no other run uses."""
        return self.day(_CHANGED + number, ratio)

    @property
    def names(self) -> tuple[str, ...]:
        """Its classes' names."""
        return tuple(each.name for each in self.classes)


def windows_of(counts: Sequence[Sequence[int]]) -> list[Window]:
    """Rows of drafts, s_1, s_2, s_3 as windows."""
    return [Window(row[0], tuple(row[1:]), tuple(row[:-1]), sum(row[1:])) if row[0] else NOTHING for row in counts]


def calibrate(pod: Pod, days: int, settings: MonitorSettings) -> dict[str, Calibration]:
    """Baseline, long-run design effect and threshold of the pod's total (`""`) and of each class.

    Fitted to that many days as `specwatch detect calibrate` fits a history, request records included.
    """
    history = [pod.day(number) for number in range(days)]
    counts = np.concatenate([day.counts for day in history])
    requests = np.concatenate([day.requests for day in history])
    found = {ALL: _calibration(ALL, counts.sum(axis=1), requests[:, 1:], settings)}
    for index, name in enumerate(pod.names):
        own = requests[requests[:, 0] == index, 1:]
        found[name] = _calibration(name, counts[:, index], own, settings)
    return found


def _calibration(name: str, counts: Counts, requests: Integers, settings: MonitorSettings) -> Calibration:
    timed = [(SCRAPE_S * at, row) for at, row in enumerate(windows_of(counts.tolist()))]
    records = [(float(drafts), float(accepted)) for drafts, accepted in requests.tolist()]
    found = fit(timed, DEPTH, SCRAPE_S, records)
    if found is None:
        raise ValueError(f"class {name!r} has no drafts to calibrate on")
    threshold = stream_threshold(name, settings)

    def peak(each: StreamFit) -> float:
        design = each.used_design(settings.profile_safety)
        bank = DriftBank(each.baseline, design=design, threshold=threshold, depth=DEPTH)
        return threshold * max(bank.update(row) for _, row in timed)

    settled = settle(found, peak, threshold, len(timed) / DAY)
    return Calibration(settled.baseline, settled.design, threshold)

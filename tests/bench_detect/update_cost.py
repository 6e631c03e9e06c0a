"""What an update costs, beside a bare loop over the same observations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench_detect.pod import Pod, calibrate, windows_of
from bench_detect.traffic_class import ALIKE, DEPTH
from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.drift_bank import DriftBank
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.model_monitor import Calibration, ModelMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.window import Window

ROUNDS: Final = 7


@dataclass(frozen=True)
class Cost:
    """One kind of update.

    Attributes:
        name: what is updated.
        microseconds: least over the rounds, the one in which the machine was quietest.
        ratio: of that to the least of the bare loop.
    """

    name: str
    microseconds: float
    ratio: float


def measure(updates: int) -> list[Cost]:
    """Time all of them, alternating, so that all see the same machine."""
    settings = MonitorSettings()
    pod = Pod((7, 0), ALIKE, 2)
    calibrations = calibrate(pod, 1, settings)
    counts = pod.day(1).counts
    rows = (windows_of(counts.sum(axis=1).tolist()) * (1 + updates // len(counts)))[:updates]
    by_class = [
        dict(zip(pod.names, parts, strict=True))
        for parts in zip(*(windows_of(counts[:, index].tolist()) for index in range(len(ALIKE))), strict=True)
    ]
    classes = (by_class * (1 + updates // len(by_class)))[:updates]
    ways = _ways(rows, classes, calibrations, settings)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            times[name].append((time.perf_counter() - began) / updates)
    bare = min(times["bare loop"])
    return [Cost(name, 1e6 * min(own), min(own) / bare) for name, own in times.items()]


def _ways(
    rows: Sequence[Window],
    classes: Sequence[Mapping[str, Window]],
    calibrations: Mapping[str, Calibration],
    settings: MonitorSettings,
) -> dict[str, Callable[[], None]]:
    known = calibrations[""]
    q, design, threshold = known.baseline.q, known.design, known.threshold

    def model() -> None:
        test = ModelMonitor(settings, depth=DEPTH, calibrations=calibrations)
        for index, (row, parts) in enumerate(zip(rows, classes, strict=True)):
            test.update(row, float(index), parts)

    def monitor() -> None:
        test = DriftMonitor(settings, depth=DEPTH, baseline=known.baseline, design=design)
        for index, row in enumerate(rows):
            test.update(row, float(index))

    return {
        "bare loop": lambda: _bare(rows),
        "one CUSUM (chain_cusum)": lambda: _each(
            ChainCusum(q, ratio=0.97, design=design, threshold=threshold), rows
        ),
        "bank of two and the hard-failure rule (drift_bank)": lambda: _each(
            DriftBank(known.baseline, design=design, threshold=threshold, depth=DEPTH), rows
        ),
        "monitor of one stream (drift_monitor)": monitor,
        "monitor of a model with four classes (model_monitor)": model,
    }


def _bare(rows: Sequence[Window]) -> None:
    total = 0.0
    for row in rows:
        total += row.drafts


def _each(test: ChainCusum | DriftBank, rows: Sequence[Window]) -> None:
    for row in rows:
        test.update(row)

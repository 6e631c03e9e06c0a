"""A model of two classes, and traffic for its monitor as it is on average."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from detectors.drafting import expected
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.model_monitor import Calibration, ModelMonitor, ModelReading
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.window import NOTHING, Window

STEP = 10.0
QS = {"code": (0.85, 0.85), "chat": (0.5, 0.45)}
EVEN = {"code": 0.5, "chat": 0.5}


def mix(shares: Mapping[str, float], factor: float = 1.0, drafts: float = 6000) -> dict[str, Window]:
    return {name: expected(drafts * share, QS[name], factor) for name, share in shares.items() if share}


def whole(classes: Mapping[str, Window]) -> Window:
    return sum(classes.values(), NOTHING)


def calibrations() -> dict[str, Calibration]:
    found = {name: Calibration(Baseline(expected(1e7, q)), 5.0, 12.0) for name, q in QS.items()}
    return {**found, "": Calibration(Baseline(whole(mix(EVEN, drafts=1e7))), 5.0, 12.0)}


def model(state: Mapping[str, Any] | None = None) -> ModelMonitor:
    return ModelMonitor(depth=2, calibrations=calibrations(), state=state)


def fed(
    monitor: ModelMonitor, classes: dict[str, Window], intervals: int, start: float, *, labelled: bool = True
) -> list[ModelReading]:
    total = whole(classes)
    return [
        monitor.update(total, start + STEP * interval, classes if labelled else None)
        for interval in range(intervals)
    ]


def states(readings: list[ModelReading]) -> set[DriftState]:
    return {reading.verdict.state for reading in readings}


# Share of code, share of the usual acceptance, drafts, a change before it, intervals.
EVENTS = st.tuples(
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.sampled_from([0.0, 0.8, 0.97, 1.0, 1.0, 1.0]),
    st.sampled_from([0.0, 100.0, 6000.0, 1e9]),
    st.sampled_from([None, None, None, *Change]),
    st.integers(1, 30),
)


def play(monitor: ModelMonitor, events: list[Any], now: float) -> tuple[list[Any], float]:
    found: list[Any] = []
    for code, factor, drafts, change, intervals in events:
        if change is not None:
            monitor.changed(change)
        found += fed(monitor, mix({"code": code, "chat": 1.0 - code}, factor, drafts), intervals, now)
        now += STEP * intervals
        found.append(monitor.state())
    return found, now

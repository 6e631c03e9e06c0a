"""Slow waves of acceptance that a test never sees do not slow it down; those that it sees do."""

from __future__ import annotations

import math
import random

import pytest

from detectors.drafting import Q, expected
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.drift_bank import DriftBank
from specwatch_detectors.settled_design import settle
from specwatch_detectors.stream_fit import StreamFit, Timed, fit

INTERVAL_S = 10.0
H = 13.56
FOUND = StreamFit(Baseline(expected(1e6)), 200.0, "batch means over 6 h", 60_480, None, 20.0)


def wave(height: float, days: float = 2.0, noise: float = 0.01) -> Timed:
    """Intervals of 10,000 drafts, all conditional acceptances up and down by `height` over the day."""
    rng = random.Random(3)
    found = []
    for interval in range(round(days * 8640)):
        level = 1.0 + height * math.sin(2.0 * math.pi * interval / 8640) + rng.gauss(0.0, noise)
        found.append((interval * INTERVAL_S, expected(10_000, factor=level)))
    return found


def peak(windows: Timed, found: StreamFit) -> float:
    bank = DriftBank(found.baseline, design=found.used_design(1.2), threshold=H, depth=len(Q))
    return H * max(bank.update(window) for _, window in windows)


@pytest.mark.parametrize(
    ("height", "least", "most"),
    [(0.0, 0.0, 20.0), (0.008, 0.0, 0.3), (0.04, 0.1, 1.0)],
    ids=["none", "under half of the smallest drop", "over it"],
)
def test_only_waves_that_a_test_would_see_make_it_slow(height: float, least: float, most: float) -> None:
    windows = wave(height)
    found = fit(windows, len(Q), INTERVAL_S)
    assert found is not None
    settled = settle(found, lambda each: peak(windows, each), H, 2.0)
    assert least * found.design <= settled.design <= most * found.design
    assert peak(windows, settled) < H


@pytest.mark.parametrize(
    ("largest", "days", "design"),
    [
        (0.0, 7.0, 20.0),
        (H - 1.0 - math.log(30.0 / 7.0) - 0.01, 7.0, 20.0),
        (H - 1.0 - math.log(30.0 / 7.0) + 0.01, 7.0, 200.0),
        (H - 1.01, 60.0, 20.0),
        (H - 0.99, 60.0, 200.0),
    ],
)
def test_a_replay_near_the_threshold_takes_all_spans(largest: float, days: float, design: float) -> None:
    assert settle(FOUND, lambda _: largest, H, days).design == design


def test_a_design_that_no_span_widens_stays_as_it_is() -> None:
    plain = StreamFit(FOUND.baseline, 20.0, "batch means", 60_480, None, 20.0)
    assert settle(plain, lambda _: 0.0, H, 7.0) is plain

"""The least delay that a detector can have for a change, with the traffic that there was."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from bench_detect.demand import Floats
from bench_detect.simulator import Counts
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.threshold import MONTH_S, information_rate, optimal_delay

RUN_LENGTH: Final = MONTH_S / 10.0
"""One false page in 30 days at a scrape every 10 s."""


def evidence(
    counts: Counts, calibrations: Mapping[str, Calibration], names: tuple[str, ...], ratio: float
) -> Floats:
    """Nats that each scrape brings once the draft accepts `ratio` times as much.

    Args:
        counts: by scrape, stream, and drafts, s_1, ...
        calibrations: baseline and design effect (as measured, no safety factor) by stream.
        names: the streams in the order of `counts`; their evidence adds.
        ratio: after over before.
    """
    total = np.zeros(len(counts))
    for index, name in enumerate(names):
        known = calibrations[name]
        before = known.baseline.q
        rate = information_rate([ratio * value for value in before], before, 1.0, known.design)
        total += rate * counts[:, index, 0]
    return total


def first_order(nats: Floats) -> float:
    """Lorden's bound: scrapes until the evidence is ln(ARL0); the evidence of one scrape is spread evenly in it."""
    return _until(nats, math.log(RUN_LENGTH))


def at_finite_run_length(nats: Floats) -> float:
    """The optimum for evidence that grows as a Brownian motion, at the mean rate up to Lorden's bound."""
    first = first_order(nats)
    rate = float(nats[: max(1, math.ceil(min(first, len(nats))))].mean())
    return _until(nats, optimal_delay(RUN_LENGTH, rate) * rate) if rate > 0.0 else math.inf


def _until(nats: Floats, needed: float) -> float:
    """Scrapes until so much evidence has come, at least one; past the end at the mean rate."""
    grown = np.cumsum(nats)
    index = int(np.searchsorted(grown, needed))
    if index >= len(nats):
        return len(nats) * needed / float(grown[-1]) if grown[-1] > 0 else math.inf
    before = float(grown[index - 1]) if index else 0.0
    return max(1.0, index + (needed - before) / float(nats[index]))

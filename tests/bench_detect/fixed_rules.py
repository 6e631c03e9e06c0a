"""Rules that people use today: a fixed threshold that holds for five minutes, and 5 sigma on the binomial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench_detect.simulator import Counts
from bench_detect.traffic_class import DEPTH
from specwatch_detectors.baseline import Baseline

HELD: Final = 30
"""Scrapes that a threshold rule must hold: Prometheus's `for: 5m`."""

LENGTH_RULE: Final = "acceptance length < 0.9 of the baseline for 5 min"
RATE_RULE: Final = "acceptance rate < 0.3 for 5 min"
SIGMA_RULE: Final = "5 sigma, binomial, each scrape"

Flags = NDArray[np.bool_]


def breaches(counts: Counts, baseline: Baseline) -> Mapping[str, Flags]:
    """By rule: scrapes in which it would be firing.

    Args:
        counts: by scrape, and drafts, s_1, ...
        baseline: that of the pod.
    """
    drafts = counts[:, 0].astype(float)
    accepted = counts[:, 1:].sum(axis=1).astype(float)
    some = np.maximum(drafts, 1.0)
    length, rate = 1.0 + accepted / some, accepted / some / DEPTH
    mean = baseline.mean_accepted or 0.0
    chance = mean / DEPTH
    sigma = np.sqrt(some * DEPTH * chance * (1.0 - chance))
    served = drafts > 0
    return {
        LENGTH_RULE: held(served & (length < 0.9 * (1.0 + mean)), served),
        RATE_RULE: held(served & (rate < 0.3), served),
        SIGMA_RULE: served & (accepted - some * mean < -5.0 * sigma),
    }


def held(bad: Flags, served: Flags) -> Flags:
    """Scrapes at which a condition has held for five minutes; one without drafts has no sample and ends it."""
    good = ~(bad & served)
    index = np.arange(len(bad))
    last_good = np.maximum.accumulate(np.where(good, index, -1))
    firing: Flags = index - last_good >= HELD
    return firing


def pages(firing: Flags) -> int:
    """How often it begins to fire."""
    return int((firing & ~np.concatenate(([False], firing[:-1]))).sum())


def first(firing: Flags) -> int | None:
    """Scrapes until it fires, counted from 1; None if it does not."""
    return int(np.argmax(firing)) + 1 if firing.any() else None

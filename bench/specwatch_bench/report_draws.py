"""Figures with their bootstrap: an array has the estimate first and then one value per draw.

Latencies: requests are drawn with replacement, and all that belongs to a request is drawn with it. Throughput: the
measured time is cut into tenths of a second, and blocks of one second are drawn (moving-block bootstrap, Kuensch
1989), because neighbouring tenths resemble each other; of a run of less than three seconds a third, because a block
that holds it all has no spread. This is the error within one run; another start may differ by more.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from specwatch_bench.profile_estimate import DRAWS
from specwatch_bench.profile_table import Range

Floats = NDArray[np.float64]
_OUTER: Final = (0.025, 0.975)
_BIN_S: Final = 0.1
_BLOCK: Final = 10
_FEWEST: Final = 3


def generator(name: str) -> np.random.Generator:
    """Random numbers that depend on a name only, so that a report made again is the same."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def interval(draws: Floats) -> Range:
    """The estimate with its 95 % interval; draws that are no numbers are left out."""
    value = float(draws[0])
    known = draws[1:][np.isfinite(draws[1:])]
    if not known.size:
        return Range(value, value, value)
    lower, upper = np.quantile(known, _OUTER)
    return Range(value, min(value, float(lower)), max(value, float(upper)))


def rate_draws(moments: Floats, sizes: Floats, seconds: float, rng: np.random.Generator) -> Floats:
    """Sum of sizes per second.

    Args:
        moments: seconds from the start of the measured time.
        sizes: what came at each moment.
        seconds: measured time, above 0.
        rng: of the draws.
    """
    count = max(1, round(seconds / _BIN_S))
    inside = (moments >= 0) & (moments < seconds)
    at = np.minimum((moments[inside] / seconds * count).astype(np.int64), count - 1)
    bins = np.bincount(at, weights=sizes[inside], minlength=count)
    block = min(_BLOCK, max(1, count // _FEWEST))
    starts = rng.integers(0, count, size=(DRAWS, -(-count // block)))
    picked = ((starts[:, :, None] + np.arange(block)) % count).reshape(DRAWS, -1)[:, :count]
    return np.concatenate([[bins.sum()], bins[picked].sum(axis=1)]) / seconds


def quantile_draws(
    values: Floats, weights: Floats, owners: NDArray[np.int64], quantiles: Sequence[float], rng: np.random.Generator
) -> list[Floats]:
    """Weighted quantiles; each is the smallest value with that share of the weight at or below it.

    Args:
        values: what is judged.
        weights: of each value.
        owners: number of the request that each value belongs to, from 0.
        quantiles: between 0 and 1.
        rng: of the draws.
    """
    if not values.size:
        return [np.full(DRAWS + 1, np.nan) for _ in quantiles]
    order = np.argsort(values, kind="stable")
    values, weights, owners = values[order], weights[order], owners[order]
    count = int(owners.max()) + 1
    found = [_quantiles(values, weights, quantiles)]
    for _ in range(DRAWS):
        times = np.bincount(rng.integers(0, count, size=count), minlength=count)
        found.append(_quantiles(values, weights * times[owners], quantiles))
    return list(np.array(found).T)


def _quantiles(values: Floats, weights: Floats, quantiles: Sequence[float]) -> Floats:
    reached = np.cumsum(weights)
    if reached[-1] <= 0:
        return np.full(len(quantiles), np.nan)
    at = np.searchsorted(reached, np.array(quantiles) * reached[-1] - 1e-9)
    return np.asarray(values[np.minimum(at, len(values) - 1)])

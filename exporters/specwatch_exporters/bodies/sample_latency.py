"""Latency summaries of single observations."""

from __future__ import annotations

from collections.abc import Iterable

from specwatch_exporters.report import Latency


def summarise_samples(values: Iterable[float | None]) -> Latency | None:
    """Count, mean and quantiles of what is known, seconds; None if nothing is.

    Quantiles interpolate linearly between order statistics (Hyndman and Fan 1996, type 7).
    """
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    return Latency(float(len(known)), sum(known) / len(known), _quantile(known, 0.5), _quantile(known, 0.99))


def _quantile(ordered: list[float], share: float) -> float:
    spot = share * (len(ordered) - 1)
    low = int(spot)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (spot - low) * (ordered[high] - ordered[low])

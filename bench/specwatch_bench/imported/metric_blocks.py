"""Metrics as AIPerf and GenAI-Perf write them: a name, its unit, and the statistics of its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_exporters.bench_run import Times
from specwatch_exporters.bodies.fields import number

_MILLISECONDS = {"ms": 1.0, "milliseconds": 1.0, "s": 1e3, "sec": 1e3, "us": 1e-3, "ns": 1e-6}


def value_of(body: Mapping[str, Any], name: str, which: str = "avg") -> float | None:
    """One statistic of a metric; None where it is not there."""
    block = body.get(name)
    return number(block.get(which)) if isinstance(block, Mapping) else None


def count_of(body: Mapping[str, Any], name: str, which: str = "avg") -> int | None:
    """The same as a whole number."""
    found = value_of(body, name, which)
    return None if found is None else round(found)


def times_of(body: Mapping[str, Any], name: str) -> Times:
    """Mean, median and 99th percentile of a metric of time, in milliseconds; unknown in an unknown unit."""
    block = body.get(name)
    factor = _MILLISECONDS.get(str(block.get("unit"))) if isinstance(block, Mapping) else None
    if factor is None:
        return Times()
    mean, p50, p99 = (value_of(body, name, which) for which in ("avg", "p50", "p99"))
    return Times(*(None if value is None else value * factor for value in (mean, p50, p99)))


def moment(value: object) -> int | None:
    """Nanoseconds since some beginning, which is more than a JSON count may be; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

"""The rows of the table: what each one is made of, round by round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench_proxy.entry import Entry
from bench_proxy.load_job import Figures, Phase

_SATURATED: Final = 0.9


@dataclass(frozen=True)
class Measure:
    """One row.

    Attributes:
        title: what it says, with the unit.
        phase: which phase gives its figures.
        digits: after the decimal point.
        of_proxy: its value from a proxy's figures and direct's of the same round.
        of_direct: the value to show for `direct`; None where there is nothing to show.
        is_rate: whether it is a rate for one core.
    """

    title: str
    phase: Phase
    digits: int
    of_proxy: Callable[[Figures, Figures], float]
    of_direct: Callable[[Figures], float] | None
    is_rate: bool = False


def added(title: str, name: str) -> Measure:
    """A figure of the paced phase over that of the same round without a proxy."""
    return Measure(title, "paced", 2, lambda own, direct: own[name] - direct[name], lambda direct: direct[name])


def per_core(title: str, phase: Phase) -> Measure:
    """What a proxy passes on per second of its processor time; for `direct` what the generator manages."""
    return Measure(title, phase, 0, _per_processor_second, _per_second, is_rate=True)


def _per_second(direct: Figures) -> float:
    return direct["count"] / direct["seconds"]


def _per_processor_second(own: Figures, direct: Figures) -> float:
    del direct
    return own["count"] / own["processor_s"] if own["processor_s"] else math.nan


def used_share(figures: Figures) -> float:
    """How much of its core a proxy used while it was measured."""
    return figures["processor_s"] / figures["seconds"]


def memory(title: str, name: str) -> Measure:
    """Resident memory."""
    return Measure(title, "memory", 0, lambda own, _: own[name], None)


ADDED_DELAY_P99: Final = added("added to a chunk p99, ms", "delay_p99_ms")
CHUNKS_ALONE: Final = per_core("chunks/s on one core, one by one", "alone")
CHUNKS_FLOOD: Final = per_core("chunks/s on one core, back to back", "flood")
SMALL_REPLIES: Final = per_core("small replies/s on one core", "small")
THROUGHPUT: Final = (CHUNKS_ALONE, CHUNKS_FLOOD, SMALL_REPLIES)
MEASURES: Final = (
    added("added TTFT p50, ms", "first_p50_ms"),
    added("added TTFT p99, ms", "first_p99_ms"),
    added("added to a chunk p50, ms", "delay_p50_ms"),
    ADDED_DELAY_P99,
    added("added gap p99, ms", "stretch_p99_ms"),
    Measure("share of a core at that load, %", "paced", 1, lambda own, _: 100 * used_share(own), None),
    *THROUGHPUT,
    memory("resident memory, no streams, MiB", "idle_mib"),
    memory("resident memory, 256 open streams, MiB", "open_mib"),
)


def values(measure: Measure, entry: Entry, direct: Entry) -> list[float]:
    """A measure's value in every round that the entry has finished."""
    own = entry.found.get(measure.phase, [])
    bare: list[Figures] = direct.found.get(measure.phase) or [{}] * len(own)
    if entry is direct:
        return [measure.of_direct(figures) for figures in own] if measure.of_direct else []
    return [measure.of_proxy(mine, theirs) for mine, theirs in zip(own, bare, strict=False)]


def median(measure: Measure, entry: Entry, direct: Entry) -> float:
    """The median over the rounds; NaN where there are none."""
    found = values(measure, entry, direct)
    return statistics.median(found) if found else math.nan


def is_saturated(measure: Measure, entry: Entry) -> bool:
    """Whether the proxy's core was the limit in every round of the measure's phase."""
    return all(used_share(figures) >= _SATURATED for figures in entry.found.get(measure.phase, []))

"""Engine steps of a cell, put together from the moments at which its chunks arrived.

An engine hands out the tokens of one step together, so the chunks of all running requests arrive within a few
milliseconds of each other, and the next step's arrive a step time later.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from specwatch_bench.request_record import RequestRecord

# A pause of this share of a short gap between chunks of one request parts two steps; chunks of one step lie closer.
_PAUSE: Final = 0.4
_SHORT: Final = 0.05


class Arrival(NamedTuple):
    """One chunk.

    Attributes:
        moment: microseconds of measured time.
        request: its number.
        gap: microseconds since the request's chunk before; since it was sent for the first.
        first: it is the request's first.
        prompt_tokens: of the request.
        tokens: in the chunk.
    """

    moment: int
    request: int
    gap: int
    first: bool
    prompt_tokens: int
    tokens: float


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step as the client saw it.

    Attributes:
        seconds: median gap of the requests that go on in it; of a step with first chunks only, the time since the
            step before.
        prompt_tokens: of requests whose first chunk came with it.
        tokens: that came with it.
        quiet: neither this step nor the next brought a first chunk. An engine that prepares a step while the one
            before it runs hands a prompt's first token out one step after the step that computed the prompt.
    """

    seconds: float
    prompt_tokens: int
    tokens: float
    quiet: bool


def steps_of(records: Sequence[RequestRecord], seconds: float) -> tuple[Step, ...]:
    """Steps that ended in the measured time, in order.

    Args:
        records: of one cell, warm-up included.
        seconds: measured time.
    """
    groups = _groups(_arrivals(records))
    found: list[Step] = []
    for index in range(1, len(groups) - 1):
        before, group, after = groups[index - 1 : index + 2]
        if not 0 <= group[-1].moment < seconds * 1e6:
            continue
        gaps = [chunk.gap for chunk in group if not chunk.first]
        took = statistics.median(gaps) if gaps else group[0].moment - before[-1].moment
        found.append(
            Step(
                took / 1e6,
                sum(chunk.prompt_tokens for chunk in group if chunk.first),
                sum(chunk.tokens for chunk in group),
                quiet=not any(chunk.first for chunk in (*group, *after)),
            )
        )
    return tuple(found)


def mean_gap(records: Sequence[RequestRecord], seconds: float) -> float | None:
    """Mean time between two chunks of a request in the measured time, in seconds; None without any."""
    gaps = [chunk.gap for chunk in _arrivals(records) if not chunk.first and 0 <= chunk.moment < seconds * 1e6]
    return statistics.fmean(gaps) / 1e6 if gaps else None


def _arrivals(records: Sequence[RequestRecord]) -> list[Arrival]:
    found: list[Arrival] = []
    for record in records:
        moment = record.sent
        sizes = record.sizes or (1,) * len(record.chunks)
        for index, (gap, size) in enumerate(zip(record.chunks, sizes, strict=True)):
            moment += gap
            found.append(Arrival(moment, record.number, gap, index == 0, record.prompt_tokens or 0, size))
    return sorted(found)


def _groups(arrivals: Sequence[Arrival]) -> list[list[Arrival]]:
    """Arrivals by step: a new one begins with a request that the present one has already, or after a pause."""
    gaps = sorted(chunk.gap for chunk in arrivals if not chunk.first)
    pause = _PAUSE * gaps[int(_SHORT * len(gaps))] if gaps else 0.0
    groups: list[list[Arrival]] = []
    present: set[int] = set()
    for chunk in arrivals:
        if not groups or chunk.request in present or chunk.moment - groups[-1][-1].moment > pause:
            groups.append([])
            present = set()
        groups[-1].append(chunk)
        present.add(chunk.request)
    return groups

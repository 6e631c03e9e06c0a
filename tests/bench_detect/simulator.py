"""Synthetic counters of pods that serve with speculative decoding, drawn with a seed.

Each slot serves one request after the other while the demand keeps it busy; a request belongs to a class, has its
own log-odds of acceptance (normal with a longer lower tail) and a heavy-tailed length. A step drafts once in every
busy slot and takes 10 ms and 0.125 ms more per busy slot (measured shape: 10 ms at 1, 18 ms at 64). Accepted counts
of one request in one scrape are drawn from the normal approximation to the binomial, widened for drafts that hang
together; what makes counts of a pod spread, that requests differ, is drawn request by request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench_detect.demand import BLOCK, BLOCKS, DAY, SCRAPE_S, Demand, Habits, Integers, demand
from bench_detect.traffic_class import CAP_TOKENS, DEPTH, TrafficClass

Counts = NDArray[np.int32]
"""By scrape, class and [drafts, s_1, s_2, s_3]."""

_FIRST_STEP_S = 0.010
_STEP_PER_SLOT_S = 0.000125
_PARETO_SHARE, _PARETO_POWER = 0.03, 1.2
_LOWER_TAIL = 0.6


@dataclass(frozen=True)
class Day:
    """What one pod counted in one day.

    Attributes:
        counts: by scrape, class and drafts, s_1, s_2, s_3.
        restarts: scrapes at which the engine came back.
        requests: by request: class, drafts, accepted tokens; a sample of at most 20,000.
    """

    counts: Counts
    restarts: tuple[int, ...]
    requests: Integers


@dataclass(frozen=True)
class _Requests:
    """Requests of a day in the order of blocks, slots and time: class, log-odds offset, start and end."""

    kind: Integers
    offset: NDArray[np.float32]
    starts: Integers
    ends: Integers


def simulate_day(
    seed: Sequence[int],
    classes: Sequence[TrafficClass],
    slots: int,
    *,
    ratio: float = 1.0,
    habits: Habits = Habits(),  # noqa: B008 - immutable
) -> Day:
    """One day of one pod.

    Args:
        seed: numbers that identify the day; the same ones give the same requests whatever the ratio.
        classes: of traffic.
        slots: most requests at once.
        ratio: what the draft accepts over what it accepted when it fitted, every conditional acceptance alike.
        habits: how uneven the demand is.
    """
    plan = demand(np.random.default_rng([*seed, 1]), classes, slots, habits)
    rng = np.random.default_rng([*seed, 2])
    bounds, scrapes, rows = _busy_steps(plan, slots)
    requests = _draw_requests(rng, plan, classes, rows, ratio)
    return _count(rng, classes, bounds, scrapes, requests, ratio, plan.restarts)


def _busy_steps(plan: Demand, slots: int) -> tuple[Integers, Integers, Integers]:
    """Lay the busy time of all slots end to end, block by block, in steps.

    Returns:
        End of every (block, slot, scrape) on that line; its scrape; end of every (block, slot).
    """
    steps = np.where(plan.active > 0, SCRAPE_S / (_FIRST_STEP_S + _STEP_PER_SLOT_S * plan.active), 0.0)
    busy = np.clip(plan.active[None, :] - np.arange(slots)[:, None], 0.0, 1.0) * steps
    by_row = np.rint(busy).astype(np.int64).reshape(slots, BLOCKS, BLOCK).transpose(1, 0, 2)
    ends = np.cumsum(by_row.ravel())
    scrapes = np.broadcast_to(np.arange(DAY).reshape(BLOCKS, 1, BLOCK), (BLOCKS, slots, BLOCK)).ravel()
    return ends, scrapes, ends[BLOCK - 1 :: BLOCK]


def _draw_requests(
    rng: np.random.Generator,
    plan: Demand,
    classes: Sequence[TrafficClass],
    rows: Integers,
    ratio: float,
) -> _Requests:
    """Fill every row with requests; the last one of a row is cut where the row ends."""
    capacity = np.diff(rows, prepend=0)
    slots = len(rows) // BLOCKS
    mean = np.array([_mean_drafts(each) for each in classes])
    # Without the ratio: the same requests are drawn before and after a change.
    number = np.where(capacity > 0, capacity / np.repeat(plan.mix @ mean, slots) * 1.15 + 3.0, 0.0).astype(np.int64)
    row = np.repeat(np.arange(len(rows)), number)
    block = row // slots
    size = len(row)
    chance = rng.random(size, dtype=np.float32)
    kind = (chance[:, None] > np.cumsum(plan.mix, axis=1).astype(np.float32)[block, :-1]).sum(axis=1)
    tokens = _lengths(rng, classes, kind)
    noise = np.sqrt(1.0 - _LOWER_TAIL**2) * rng.standard_normal(size, dtype=np.float32)
    noise -= _LOWER_TAIL * (rng.standard_exponential(size, dtype=np.float32) - 1.0)
    spread = np.array([each.spread for each in classes], dtype=np.float32)
    offset = (spread[kind] * noise + plan.offset.astype(np.float32)[block, kind]).astype(np.float32)
    drafts = np.ceil(tokens / (1.0 + _accepted_per_draft(classes, kind, offset, ratio))).astype(np.int64)
    before = np.cumsum(drafts)
    first = np.concatenate(([0], np.cumsum(number)[:-1]))
    origin = np.where(number > 0, np.concatenate(([0], before))[np.minimum(first, size)], 0)
    start_of_row = rows - capacity
    ends = before - origin[row] + start_of_row[row]
    limit = rows[row]
    return _Requests(kind, offset, np.minimum(ends - drafts, limit), np.minimum(ends, limit))


def _lengths(rng: np.random.Generator, classes: Sequence[TrafficClass], kind: Integers) -> NDArray[np.float32]:
    """Tokens of the answers: lognormal with a Pareto tail, capped."""
    median = np.array([each.tokens for each in classes], dtype=np.float32)[kind]
    tail = np.array([each.tail for each in classes], dtype=np.float32)[kind]
    tokens = median * np.exp(tail * rng.standard_normal(len(kind), dtype=np.float32))
    chance = rng.random(len(kind), dtype=np.float32)
    long = chance < _PARETO_SHARE
    tokens[long] *= (np.maximum(chance[long], 1e-7) / _PARETO_SHARE) ** np.float32(-1.0 / _PARETO_POWER)
    capped: NDArray[np.float32] = np.clip(tokens, 4.0, CAP_TOKENS)
    return capped


def _mean_drafts(each: TrafficClass) -> float:
    """About how many drafts a request of the class takes."""
    rng = np.random.default_rng(0)
    tokens = _lengths(rng, [each], np.zeros(20_000, dtype=np.int64))
    p = np.cumprod(each.q)
    return float(tokens.mean() / (1.0 + p.sum()))


def _chances(
    classes: Sequence[TrafficClass], kind: Integers, offset: NDArray[np.float32], ratio: float
) -> list[NDArray[np.float32]]:
    """Conditional acceptance of every request, a list by position."""
    q = np.array([each.q for each in classes])
    odds = (q / (1.0 - q)).astype(np.float32)
    grown = np.exp(offset)
    found = []
    for position in range(DEPTH):
        own = odds[kind, position] * grown
        found.append((ratio * own / (1.0 + own)).astype(np.float32))
    return found


def _accepted_per_draft(
    classes: Sequence[TrafficClass], kind: Integers, offset: NDArray[np.float32], ratio: float
) -> NDArray[np.float32]:
    first, second, third = _chances(classes, kind, offset, ratio)
    accepted = first * (1.0 + second * (1.0 + third))
    return accepted.astype(np.float32)


def _count(
    rng: np.random.Generator,
    classes: Sequence[TrafficClass],
    bounds: Integers,
    scrapes: Integers,
    requests: _Requests,
    ratio: float,
    restarts: tuple[int, ...],
) -> Day:
    """Cut requests at the scrapes, draw what each part accepts, and add up by scrape and class."""
    line = np.concatenate((bounds, requests.ends))
    order = np.argsort(line, kind="stable")
    ends = line[order]
    drafts = np.diff(ends, prepend=0)
    is_request = order >= len(bounds)
    # A part lies in the first scrape and request that end where it ends or later; before its request starts, the
    # slot is idle.
    request: Integers = np.cumsum(is_request) - is_request
    cell: Integers = np.cumsum(~is_request) - ~is_request
    kept = (drafts > 0) & (request < len(requests.ends)) & (cell < len(bounds))
    kept[kept] = ends[kept] > requests.starts[request[kept]]
    drafts, request, cell = drafts[kept], request[kept], cell[kept]
    kind, offset = requests.kind[request], requests.offset[request]
    clumping = np.sqrt(np.array([each.clumping for each in classes], dtype=np.float32))[kind]
    where = scrapes[cell] * len(classes) + kind
    columns = [drafts.astype(np.float32)]
    for chance in _chances(classes, kind, offset, ratio):
        columns.append(_binomial(rng, columns[-1], chance, clumping))
    size = DAY * len(classes)
    counts = [np.bincount(where, weights=column, minlength=size) for column in columns]
    stacked = np.stack(counts, axis=1).astype(np.int32).reshape(DAY, len(classes), DEPTH + 1)
    return Day(stacked, restarts, _sample(requests, request, drafts, columns))


def _binomial(
    rng: np.random.Generator,
    tried: NDArray[np.float32],
    chance: NDArray[np.float32],
    clumping: NDArray[np.float32],
) -> NDArray[np.float32]:
    noise = rng.standard_normal(len(tried), dtype=np.float32)
    found = tried * chance + noise * clumping * np.sqrt(tried * chance * (1.0 - chance))
    kept: NDArray[np.float32] = np.clip(np.rint(found), 0.0, tried)
    return kept


def _sample(
    requests: _Requests, request: Integers, drafts: Integers, columns: Sequence[NDArray[np.float32]]
) -> Integers:
    """Class, drafts and accepted tokens of up to 20,000 requests, spread over the day."""
    size = len(requests.ends)
    total = np.bincount(request, weights=drafts, minlength=size)
    accepted = np.bincount(request, weights=sum(columns[1:]), minlength=size)
    served = np.flatnonzero(total)
    served = served[:: max(1, len(served) // 20_000)]
    found: Integers = np.stack([requests.kind[served], total[served], accepted[served]], axis=1).astype(np.int64)
    return found

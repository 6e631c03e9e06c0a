"""The truth of one month: what comes in, what each level would do with it, and what goes wrong when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench_fallback.demand import Demand, draw_demand, wander
from bench_fallback.incident import Month, Span, draw_month
from bench_fallback.kind import KINDS, LENGTH_SPREAD, OUTPUT_TOKENS, PROMPT_TOKENS, Kind
from bench_fallback.plan import DAY_TICKS, MOST_BATCH, PODS, TICK_S
from bench_fallback.steps import DRAFT, NGRAM, OFF, Floats, Steps, steps_at, true_steps

Flags = NDArray[np.bool_]

IDLE_COVERAGE: Final = 0.05
"""Share of steps in which an adaptive engine still drafts where drafts do not pay."""

JITTER: Final = 0.02
"""Spread of a request's mean step time around the fleet's, as a share."""


@dataclass(frozen=True)
class World:
    """One month, by tick.

    Attributes:
        days: simulated.
        month: incidents.
        demand: requests.
        steps: true step times.
        chain: by level with drafts, ticks x positions: share of drafts accepted up to the position.
        lengths: by level, ticks x kinds: tokens per step of the mean request of a kind.
        spreads: the same for their standard deviation among requests.
        coverage: share of steps of the drafter that draft.
        speedup: by level, at the load of the tick on the best level; without speculation it is 1.
        full_rate: by level, tokens per second and pod at a full batch.
        bad_draft: the draft is not what it was.
        outage: nothing can be measured.
        rollout: pods are being replaced.
        adapts: the engine adapts by itself.
        revision: number of the draft's version.
    """

    days: int
    month: Month
    demand: Demand
    steps: Steps
    chain: tuple[Floats, Floats]
    lengths: tuple[Floats, Floats, Floats]
    spreads: tuple[Floats, Floats, Floats]
    coverage: Floats
    speedup: Floats
    full_rate: Floats
    bad_draft: Flags
    outage: Flags
    rollout: Flags
    adapts: Flags
    revision: NDArray[np.int64]

    @property
    def ticks(self) -> int:
        """Number of ticks."""
        return self.days * DAY_TICKS

    def table(self, level: int) -> Floats:
        """Step times of a level, ticks x sizes: of an adaptive engine by the share of steps that draft."""
        own, plain = self.steps.table[level], self.steps.table[OFF]
        if level != DRAFT:
            return np.tile(own, (self.ticks, 1))
        found: Floats = plain + self.coverage[:, None] * (own - plain)
        return found

    def steps_per_request(self, level: int) -> Floats:
        """Mean steps of a request by tick."""
        found: Floats = (self.demand.mix * OUTPUT_TOKENS / self.lengths[level]).sum(axis=1)
        return found


def make_world(seed: int, days: int, month: Month | None = None) -> World:
    """The month of a seed, or one that is given; every contender gets the same."""
    month_rng, rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    month = draw_month(month_rng) if month is None else month
    demand = draw_demand(rng, days, month.mix_shift)
    ticks = days * DAY_TICKS
    ratio, bad = _ratio(month, ticks)
    adapts = _flags([Span(d.start - 43_200.0, d.length + 86_400.0) for d in month.drifts if d.adapts], ticks)
    steps = true_steps(month_rng)
    found = [_lengths(rng, level, demand, ratio if level == DRAFT else None) for level in (DRAFT, NGRAM)]
    plain = np.ones((ticks, len(KINDS)))
    lengths = (found[0][0], found[1][0], plain)
    coverage = _coverage(demand, lengths[DRAFT], steps, adapts)
    adapted = 1.0 + coverage[:, None] * (lengths[DRAFT] - 1.0)
    lengths = (adapted, lengths[NGRAM], plain)
    spreads = tuple(
        np.hypot(each, JITTER * mean)
        for each, mean in zip((found[0][1] * coverage[:, None], found[1][1], 0.0 * plain), lengths, strict=True)
    )
    speedup, full = _speedups(demand, lengths, coverage, steps)
    return World(
        days, month, demand, steps, (found[0][2], found[1][2]), lengths, (spreads[0], spreads[1], spreads[2]),
        coverage, speedup, full, bad, _flags(month.outages, ticks), _flags(month.rollouts, ticks), adapts,
        sum(((np.arange(ticks) * TICK_S >= span.start).astype(np.int64) for span in month.rollouts),
            np.zeros(ticks, dtype=np.int64)),
    )  # fmt: skip


def _flags(spans: Sequence[Span], ticks: int) -> Flags:
    flags = np.zeros(ticks, dtype=bool)
    for span in spans:
        flags[max(0, int(span.start / TICK_S)) : max(0, int(span.end / TICK_S))] = True
    return flags


def _ratio(month: Month, ticks: int) -> tuple[Floats, Flags]:
    """What the draft accepts over what it accepted when it fitted, and where that is not 1."""
    at = np.arange(ticks) * float(TICK_S)
    ratio = np.ones(ticks)
    for drift in month.drifts:
        inside = (at >= drift.start) & (at < drift.end)
        if drift.period:
            inside &= (at - drift.start) % drift.period < drift.period / 2.0
        ratio[inside] = drift.ratio
    return ratio, ratio < 1.0


def _lengths(
    rng: np.random.Generator, level: int, demand: Demand, ratio: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Tokens per step by tick and kind, their spread among requests, and the chain of all drafts together."""
    ticks = len(demand.rate)
    means, spreads, chains = [], [], []
    for kind in KINDS:
        offset = wander(rng, ticks, 0.08, 7200.0)
        chain = _chain(_base(kind, level), offset, ratio)
        high = 1.0 + _chain(_base(kind, level), offset + kind.spread, ratio).sum(axis=1)
        low = 1.0 + _chain(_base(kind, level), offset - kind.spread, ratio).sum(axis=1)
        mean = 1.0 + chain.sum(axis=1)
        within = _variance(chain) * mean * np.exp(LENGTH_SPREAD**2) / OUTPUT_TOKENS
        means.append(mean)
        spreads.append(np.sqrt(((high - low) / 2.0) ** 2 + within))
        chains.append(chain)
    lengths = np.stack(means, axis=1)
    weights = demand.mix / lengths
    weights /= weights.sum(axis=1, keepdims=True)
    whole = sum(
        (weights[:, [index]] * chain for index, chain in enumerate(chains)), np.zeros((ticks, chains[0].shape[1]))
    )
    return lengths, np.stack(spreads, axis=1), whole


def _base(kind: Kind, level: int) -> tuple[float, float, float]:
    return kind.draft if level == DRAFT else kind.ngram


def _chain(base: tuple[float, float, float], offset: Floats, ratio: Floats | None) -> Floats:
    odds = np.array([q / (1.0 - q) for q in base]) * np.exp(offset)[:, None]
    conditional = odds / (1.0 + odds)
    if ratio is not None:
        conditional = conditional * ratio[:, None]
    return np.cumprod(conditional, axis=1, dtype=np.float64)


def _variance(chain: Floats) -> Floats:
    """Variance of the accepted tokens of one draft."""
    mean = chain.sum(axis=1)
    weights = 2.0 * np.arange(1, chain.shape[1] + 1) - 1.0
    found: Floats = chain @ weights - mean**2
    return found


def _mean_length(demand: Demand, lengths: Floats) -> Floats:
    found: Floats = 1.0 / (demand.mix / lengths).sum(axis=1)
    return found


def _coverage(demand: Demand, lengths: Floats, steps: Steps, adapts: Flags) -> Floats:
    """An adaptive engine drafts in few steps where drafts do not pay at a batch of eight."""
    ratio = steps.table[DRAFT, 1] / steps.table[OFF, 1]
    loses = adapts & (_mean_length(demand, lengths) < ratio)
    found: Floats = np.where(loses, IDLE_COVERAGE, np.ones(len(loses)))
    return found


def _speedups(demand: Demand, lengths: Sequence[Floats], coverage: Floats, steps: Steps) -> tuple[Floats, Floats]:
    """S of each level at one batch, that of the best level under this demand; and the rates at a full batch."""
    ticks = len(demand.rate)
    plain = np.tile(steps.table[OFF], (ticks, 1))
    tables = [plain + coverage[:, None] * (steps.table[DRAFT] - steps.table[OFF])]
    tables += [np.tile(steps.table[NGRAM], (ticks, 1)), plain]
    means = [_mean_length(demand, each) for each in lengths]
    batch = np.full(ticks, float(MOST_BATCH))
    busy = np.clip(1.0 - demand.rate / PODS * PROMPT_TOKENS * steps.prefill, 0.1, 1.0)
    for table, mean in zip(tables, means, strict=True):
        pace = demand.rate / PODS * OUTPUT_TOKENS / mean / busy
        own = np.full(ticks, 4.0)
        for _ in range(40):  # b = pace x step(b), damped
            own = 0.5 * own + 0.5 * np.clip(pace * steps_at(own, table), 0.02, MOST_BATCH)
        batch = np.minimum(batch, own)
    rates = np.stack([_rate(batch, table, mean, steps) for table, mean in zip(tables, means, strict=True)])
    full = np.full(ticks, float(MOST_BATCH))
    at_full = np.stack([_rate(full, table, mean, steps) for table, mean in zip(tables, means, strict=True)])
    return rates / rates[OFF], at_full


def _rate(batch: Floats, table: Floats, mean: Floats, steps: Steps) -> Floats:
    """Tokens per second and pod at a batch, prefill included."""
    tokens = np.maximum(batch, 1.0) * mean
    prompt = tokens / OUTPUT_TOKENS * PROMPT_TOKENS * steps.prefill
    found: Floats = tokens / (steps_at(batch, table) + prompt)
    return found

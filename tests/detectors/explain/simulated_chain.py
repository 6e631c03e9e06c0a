"""Traffic from a simulated draft chain, request by request, and faults applied to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.window import NOTHING, Window

DESIGN = 6.0
"""Upper estimate for the requests below: 40 drafts each, with log-odds that spread by 0.25."""
DRAFTS = 60_000
CODE = (0.80, 0.82, 0.83, 0.84)
CHAT = (0.62, 0.60, 0.61, 0.62)
MATH = (0.74, 0.75, 0.76, 0.77)
CLASSES: Mapping[str, Sequence[float]] = {"chat": CHAT, "code": CODE, "math": MATH}


def times(q: Sequence[float], ratio: float) -> tuple[float, ...]:
    """Every conditional acceptance times the ratio: a draft further from its target."""
    return tuple(ratio * value for value in q)


def served(rng: np.random.Generator, q: Sequence[float], drafts: int = DRAFTS, *, per_request: int = 40) -> Window:
    """Counts of requests that differ in log-odds and share a chain."""
    requests = max(1, drafts // per_request)
    left = np.full(requests, per_request)
    shift = rng.normal(0.0, 0.25, requests)
    accepted, trials = [], []
    for value in q:
        trials.append(float(left.sum()))
        odds = np.log(max(value, 1e-9) / max(1.0 - value, 1e-9))
        chance = 1.0 / (1.0 + np.exp(-(odds + shift)))
        left = rng.binomial(left, chance if value > 0.0 else 0.0)
        accepted.append(float(left.sum()))
    return Window(float(requests * per_request), tuple(accepted), tuple(trials), float(sum(accepted)))


def compared(
    rng: np.random.Generator,
    before: Sequence[float],
    after: Sequence[float],
    drafts: tuple[int, int] = (DRAFTS, DRAFTS),
) -> Comparison:
    """One stream with a chain before and one after; no drafts on a side that has none."""
    sides = [served(rng, q, count) if count else NOTHING for q, count in zip((before, after), drafts, strict=True)]
    return Comparison(*sides)


def groups(
    rng: np.random.Generator,
    chains: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    drafts: Mapping[str, tuple[int, int]] | None = None,
) -> dict[str, Comparison]:
    """Several streams: by name the chains before and after, and drafts where they differ from the usual."""
    counts = {} if drafts is None else drafts
    return {
        name: compared(rng, before, after, counts.get(name, (DRAFTS, DRAFTS)))
        for name, (before, after) in chains.items()
    }


def together(parts: Mapping[str, Comparison]) -> Comparison:
    """All streams as one."""
    return sum(parts.values(), start=Comparison())

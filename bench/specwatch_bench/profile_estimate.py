"""Step time without prefill, price of a prompt token, and tokens per second of some cells, with a bootstrap.

Which times to take. The engine's own inter-token histogram has the exact mean over requests and steps, but that
mean holds the prefill that was mixed into the steps, and an engine with speculation ends answers sooner and so
mixes in more of it: at 128 in flight the quotient of two such means is a property of the load and not of the
drafter. Its buckets are too wide to take the prefill out. Chunk times tell every step, so they are taken:

    t  = median step in which no prompt was computed
    c  = (mean step - t) / (mean prompt tokens per step)

The engine's mean is the check: a cell whose chunks lie more than 5 % off it is left out (its client joined steps).
c is what prefill adds to a step at that batch, whatever the reason (tokens, leaving the CUDA graph, waiting for the
client), so t + c P is the mean step of the run again.

The error. Neighbouring steps resemble each other, so blocks of consecutive steps are drawn with replacement
(moving-block bootstrap, Kuensch 1989). This is the error within one run; another start may differ by more.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from specwatch_bench.profile_cell import CellSteps, Drafted
from specwatch_bench.profile_steps import Step

DRAWS: Final = 400
_BLOCK: Final = 8

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StepEstimate:
    """One engine at one batch size; each array has the estimate first and then the draws.

    Attributes:
        seconds: of a step without prefill.
        prefill: seconds that one prompt token adds to a step.
        tokens_per_second: that arrived, stalls left out.
        prompt_per_output: of the same cells.
        length: tokens per request and step; 1 for `off`.
        share: draft tokens over K times requests in steps.
        drafts: draft steps behind `length`.
        context: mean tokens of context.
        quiet: steps without prefill.
        cells: names of the cells.
    """

    seconds: Floats
    prefill: Floats
    tokens_per_second: Floats
    prompt_per_output: float
    length: float
    share: float
    drafts: float
    context: float
    quiet: int
    cells: tuple[str, ...]


def estimate(cells: Sequence[CellSteps], draws: int = DRAWS) -> StepEstimate:
    """Estimate one engine at one batch size from its usable cells.

    Cells of several traffic classes differ in acceptance only, which step times do not depend on, so their steps
    count together; length and tokens per second are those of the first, which has its counterpart without
    speculation.

    Args:
        cells: one or more.
        draws: of the bootstrap.
    """
    names = tuple(cell.name for cell in cells)
    rng = np.random.default_rng(zlib.crc32(" ".join(names).encode()))
    steps = [step for cell in cells for step in cell.steps]
    first, drafted = cells[0], cells[0].drafted
    quiet = np.array([step.quiet for step in steps])
    found = [_figures(steps, np.arange(len(steps)))]
    found += [_figures(steps, _resampled(quiet, rng)) for _ in range(draws)]
    rates = [first.tokens_per_second]
    every = np.ones(len(first.steps), dtype=bool)
    rates += [_rate(first.steps, _resampled(every, rng)) for _ in range(draws)]
    return StepEstimate(
        seconds=np.array([seconds for seconds, _ in found]),
        prefill=np.array([price for _, price in found]),
        tokens_per_second=np.array(rates),
        prompt_per_output=first.prompt_per_output,
        length=1.0 if drafted is None else drafted.length,
        share=_mean_share([cell.drafted for cell in cells if cell.drafted is not None]),
        drafts=0.0 if drafted is None else drafted.drafts,
        context=float(np.mean([cell.context for cell in cells])),
        quiet=sum(step.quiet for step in steps),
        cells=names,
    )


def _figures(steps: Sequence[Step], picked: NDArray[np.int64]) -> tuple[float, float]:
    """Seconds without prefill, and price of a prompt token, of the steps picked."""
    seconds = np.array([step.seconds for step in steps])[picked]
    prompts = np.array([step.prompt_tokens for step in steps], dtype=float)[picked]
    quiet = np.array([step.quiet for step in steps])[picked]
    bare = float(np.median(seconds[quiet]))
    price = (float(seconds.mean()) - bare) / float(prompts.mean()) if prompts.any() else 0.0
    return bare, max(0.0, price)


def _mean_share(known: Sequence[Drafted]) -> float:
    drafts = sum(one.drafts for one in known)
    return sum(one.share * one.drafts for one in known) / drafts if drafts else 0.0


def _rate(steps: Sequence[Step], picked: NDArray[np.int64]) -> float:
    seconds = np.array([step.seconds for step in steps])[picked]
    return float(np.array([step.tokens for step in steps])[picked].sum() / seconds.sum())


def _resampled(wanted: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Indexes of blocks of consecutive steps, around the end, as many as there are steps and one of them wanted."""
    count = len(wanted)
    while True:
        starts = rng.integers(0, count, size=-(-count // _BLOCK))
        picked = np.asarray(((starts[:, None] + np.arange(_BLOCK)) % count).ravel()[:count], dtype=np.int64)
        if wanted[picked].any():
            return picked

"""Dollars per million tokens, from the price of a GPU hour and measured throughput.

One definition, that of the recorded rule `specwatch:cost_per_million_tokens:usd1h`: the price of all GPU time over
the output tokens that came out of it, so the prompts are in the price of the output. At utilisation u a GPU gives u
times the tokens of the measured load and costs the same:

    usd per 1M output = 1e6 * usd per GPU hour * GPUs / (3600 * u * output tokens per second)

A vendor's bill for the same million output tokens is output price + R * input price, with R prompt tokens per
output token. The utilisation at which both are equal is the quotient of the two at u = 1.

To set a price on input and output apart, GPU time is split by what it was spent on: of a mean step t + c P (see
`profile_estimate`) the prompts take c P. What is left over is the output's. Both together give the price above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cost_prices import VendorPrice
from specwatch_bench.cost_settings import CostSettings
from specwatch_bench.profile_cell import OFF, method_of
from specwatch_bench.profile_estimate import StepEstimate
from specwatch_bench.profile_table import Range, gpus_of
from specwatch_bench.report_cell import CellReport
from specwatch_bench.report_draws import Floats, interval
from specwatch_bench.report_target import Target


@dataclass(frozen=True, slots=True)
class CellCost:
    """What the tokens of one cell cost.

    Attributes:
        label: the drafter.
        cell: it.
        all_output: dollars per million output tokens, the prompts in it.
        input: dollars per million input tokens by GPU time; None where step times are not known.
        output: dollars per million output tokens by GPU time.
        prompt_per_output: the mix.
        utilisation: at which these prices hold.
        estimate: step times behind the split.
    """

    label: str
    cell: CellReport
    all_output: Floats
    input: Floats | None
    output: Floats | None
    prompt_per_output: float
    utilisation: float
    estimate: StepEstimate | None

    @property
    def plain(self) -> bool:
        """It does not speculate."""
        return method_of(self.cell.head, self.cell.end)[0] == OFF

    def break_even(self, vendor: VendorPrice) -> Range:
        """Utilisation from which on this is cheaper than a vendor; above 1 it never is."""
        return interval(self.all_output * self.utilisation / vendor.of_mix(self.prompt_per_output))


def mix_of(target: Target) -> float:
    """Prompt tokens per output token over all published cells: the load that was asked for is the same in all."""
    prompts = sum(float(cell.prompt_s[0]) * float(cell.end["seconds"]) for cell in target.published)
    tokens = sum(float(cell.tok_s[0]) * float(cell.end["seconds"]) for cell in target.published)
    if not tokens:
        raise BenchError(f"{target.name}: no cell whose figures can be published, so no cost")
    return prompts / tokens


def costs_of(target: Target, settings: CostSettings) -> tuple[CellCost, ...]:
    """Every published cell of the shared data set under a closed loop, in their order.

    Raises:
        BenchError: there is none.
    """
    mix = mix_of(target)
    estimates = dict(_estimates(target))
    return tuple(
        _cost(target, cell, mix, settings, estimates.get(_key(cell)))
        for cell in target.published
        if cell.dataset == target.shared and cell.batch is not None and cell.head["level"]["repeat"] == 1
    )


def _cost(
    target: Target, cell: CellReport, mix: float, settings: CostSettings, estimate: StepEstimate | None
) -> CellCost:
    per_second = settings.gpu_hour_usd * gpus_of(cell.head) / 3600.0
    with np.errstate(divide="ignore"):  # a draw of the bootstrap without any answer costs without limit
        every = 1e6 * per_second / (settings.utilisation * cell.tok_s)
    share = None if estimate is None or cell.batch is None else prefill_share(estimate, cell.batch, mix)
    return CellCost(
        label=target.label(cell.engine),
        cell=cell,
        all_output=every,
        input=None if share is None else every * share / mix,
        output=None if share is None else every * (1.0 - share),
        prompt_per_output=mix,
        utilisation=settings.utilisation,
        estimate=estimate,
    )


def prefill_share(estimate: StepEstimate, batch: int, prompt_per_output: float) -> Floats:
    """Share of the time of a mean step that its prompts take."""
    prompts = estimate.prefill * prompt_per_output * estimate.length * batch
    return np.asarray(prompts / (estimate.seconds + prompts))


def _key(cell: CellReport) -> tuple[str, int, int]:
    return (OFF, 0, 0) if cell.steps is None else (cell.steps.method, cell.steps.depth, cell.steps.batch)


def _estimates(target: Target) -> Iterator[tuple[tuple[str, int, int], StepEstimate]]:
    for batch, plain in target.table.plain.items():
        yield (OFF, 0, batch), plain
    for price in target.table.prices:
        yield (price.method, price.depth, price.batch), price.own


def cheapest(costs: Sequence[CellCost]) -> CellCost:
    """The one with the lowest price per output token."""
    return min(costs, key=lambda one: float(one.all_output[0]))

"""Cost as tables: for the command of its own and for the report's section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specwatch_bench.cost_of_cells import CellCost, cheapest
from specwatch_bench.cost_prices import PriceList, VendorPrice
from specwatch_bench.cost_sensitivity import GPU_PRICES, UTILISATIONS, acceptance_row, price_grid
from specwatch_bench.cost_settings import CostSettings
from specwatch_bench.profile_table import Range
from specwatch_bench.report_blocks import Block, Bullets, Mark, Table, Words
from specwatch_bench.report_draws import interval
from specwatch_bench.report_words import dollar_range, dollars, number, percent


def assumption(settings: CostSettings) -> str:
    """What the prices hold for, in one sentence."""
    return (
        f"At {dollars(settings.gpu_hour_usd)} per GPU hour and {percent(settings.utilisation)} utilisation: the "
        "GPU is paid for all the time, and has the measured load for that share of it."
    )


def cost_tables(costs: Sequence[CellCost]) -> Iterator[Table]:
    """The cheapest engine of each batch size beside the one without speculation, and all of them, folded."""
    best = {id(cheapest([one for one in costs if one.cell.batch == batch])) for batch in _batches(costs)}
    short = [one for one in costs if one.plain or id(one) in best]
    yield _cost_table(short, best, "Without speculation and the cheapest of each batch size", folded=False)
    if len(short) < len(costs):
        yield _cost_table(costs, best, "What every engine costs", folded=True)


def _cost_table(costs: Sequence[CellCost], best: set[int], caption: str, *, folded: bool) -> Table:
    rows = [_cost_row(one, best=id(one) in best) for one in sorted(costs, key=lambda one: one.cell.batch or 0)]
    columns = (
        "batch", "engine", "request p50, s", "$ per 1M output, prompts in it", "$ per 1M input", "$ per 1M output",
    )  # fmt: skip
    return Table(columns, rows, caption, words=2, folded=folded)


def _batches(costs: Sequence[CellCost]) -> list[int | None]:
    return list(dict.fromkeys(one.cell.batch for one in costs))


def _cost_row(one: CellCost, *, best: bool) -> list[Words]:
    every = dollar_range(interval(one.all_output))
    return [
        one.cell.load + (" *" if one.cell.doubts else ""),
        one.label,
        number(float(one.cell.e2e.p50[0]) / 1e3),
        Mark(every, "good") if best else every,
        "-" if one.input is None else dollar_range(interval(one.input)),
        "-" if one.output is None else dollar_range(interval(one.output)),
    ]


def vendor_table(costs: Sequence[CellCost], prices: PriceList, settings: CostSettings) -> Table:
    """Vendors beside the cheapest engine at each batch size: the same mix, and where both cost the same."""
    mix = costs[0].prompt_per_output
    batches = [batch for batch in _batches(costs) if batch is not None]
    bests = [cheapest([one for one in costs if one.cell.batch == batch]) for batch in sorted(batches)]
    rows: list[list[Words]] = []
    for vendor in prices.vendors:
        own = [_break_even(one.break_even(vendor)) for one in bests]
        rows.append([f"{vendor.name} {vendor.model}", dollars(vendor.of_mix(mix)), *own])
    here: list[Words] = [dollars(float(one.all_output[0])) for one in bests]
    rows.append([f"**here**, $ at {percent(settings.utilisation)}", "-", *here])
    columns = (
        "list price", "$ for the mix", *(f"batch {one.cell.batch}, {one.label}" for one in bests),
    )  # fmt: skip
    caption = f"Break-even utilisation against list prices, {mix:.2f} prompt tokens per output token"
    return Table(columns, rows, caption)


def _break_even(found: Range) -> Words:
    if found.value > 1:
        return Mark("never: dearer even when full", "bad")
    return f"{percent(found.value)} ({percent(found.lower)} to {percent(found.upper)})"


def source_list(prices: PriceList) -> Bullets:
    """Where each price was read, and when."""
    vendors = [_vendor_source(one) for one in prices.vendors]
    gpus = [
        f"{one.name}: {dollars(one.usd_hour)} an hour, {one.source}, read {one.seen}{_noted(one.note)}"
        for one in prices.gpus
    ]
    return Bullets([*vendors, *gpus])


def _vendor_source(one: VendorPrice) -> str:
    asked = f"{dollars(one.input_usd)} in, {dollars(one.output_usd)} out"
    return f"{one.name} {one.model}: {asked}, {one.source}, read {one.seen}{_noted(one.note)}"


def _noted(note: str) -> str:
    return f"; {note}" if note else ""


def sensitivity_tables(cost: CellCost, settings: CostSettings) -> Iterator[Block]:
    """The price of one cell under other prices, uses and acceptances."""
    where = f"{cost.label} at batch {cost.cell.batch}"
    grid = price_grid(cost, settings)
    rows = [
        [f"{dollars(price)} per GPU hour", *map(dollars, row)] for price, row in zip(GPU_PRICES, grid, strict=True)
    ]
    columns = (where, *(f"{percent(use)} utilisation" for use in UTILISATIONS))
    yield Table(columns, rows, f"$ per 1M output tokens, {where}", folded=True)
    accepted = acceptance_row(cost)
    if accepted:
        cells = [[f"x {one.factor:g}", f"{one.length:.2f}", dollars(one.usd)] for one in accepted]
        heads = ("accepted tokens", "tokens a step", "$ per 1M output tokens")
        yield Table(heads, cells, f"The same with another acceptance, {where}", folded=True)


def cost_blocks(costs: Sequence[CellCost], prices: PriceList, settings: CostSettings) -> Iterator[Block]:
    """Everything about one target."""
    yield from cost_tables(costs)
    yield vendor_table(costs, prices, settings)
    yield from sensitivity_tables(cheapest(costs), settings)
